#include "common/ir/placement.h"

#include <array>
#include <atomic>
#include <mutex>
#include <string>

namespace sluice {
namespace {

constexpr std::array<std::string_view, 3> kShapes = {"fixed", "symbolic", "dynamic"};

constexpr size_t kMaxEngines = 200;
constexpr size_t kMaxNameBytes = 64;

bool is_engine_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_+") == std::string_view::npos;
}

// The names of engines by id. Names are only added, so those below `count_` are read without a
// lock.
class EngineNames {
 public:
  EngineNames() {
    for (const std::string_view name : {"none", "aicore", "host_cpu", "rts"}) add(name);
  }

  std::string_view name(EngineId engine) const { return names_[static_cast<size_t>(engine)]; }

  EngineId intern(std::string_view name) {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < count_; ++i) {
      if (names_[i] == name) return static_cast<EngineId>(i);
    }
    if (!is_engine_name(name) || count_ == kMaxEngines) return EngineId::kNone;
    add(name);
    return static_cast<EngineId>(count_ - 1);
  }

 private:
  void add(std::string_view name) {
    names_[count_] = name;
    ++count_;
  }

  std::mutex mutex_;
  std::array<std::string, kMaxEngines> names_;
  std::atomic<size_t> count_ = 0;
};

EngineNames& engine_names() {
  static EngineNames names;
  return names;
}

}  // namespace

std::string_view engine_name(EngineId engine) { return engine_names().name(engine); }

EngineId intern_engine(std::string_view name) { return engine_names().intern(name); }

bool is_composite(EngineId engine) {
  return engine_name(engine).find('+') != std::string_view::npos;
}

std::string_view shape_class_name(ShapeClass shapes) {
  return kShapes[static_cast<size_t>(shapes)];
}

}  // namespace sluice
