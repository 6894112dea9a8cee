#include "common/ir/placement.h"

#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "common/base/engine_name.h"
#include "common/ir/engine_fault.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 3> kShapes = {"fixed", "symbolic", "dynamic"};

// The names of engines by id. Names are only added, so those below `count_` are read without a
// lock.
class EngineNames {
 public:
  EngineNames() {
    for (const std::string_view name : {"none", "aicore", "host_cpu", "rts"}) add(name);
  }

  std::string_view name(EngineId engine) const { return names_[static_cast<size_t>(engine)]; }

  EngineId intern(std::string_view name) {
    const size_t known = count_;
    if (const size_t i = find(name, 0, known); i < known) return static_cast<EngineId>(i);
    const std::lock_guard lock(mutex_);
    if (const size_t i = find(name, known, count_); i < count_) return static_cast<EngineId>(i);
    if (!is_engine_name(name) || count_ == kMaxEngines) return EngineId::kNone;
    add(name);
    return static_cast<EngineId>(count_ - 1);
  }

 private:
  // Returns `end` when no name from `begin` to `end` is this one.
  size_t find(std::string_view name, size_t begin, size_t end) const {
    while (begin < end && names_[begin] != name) ++begin;
    return begin;
  }

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

std::string engine_fault(std::string_view name) {
  if (!is_engine_name(name)) return fmt::format("expected {}", kEngineNameRule);
  if (name == engine_name(EngineId::kNone)) return "expected another name: it stands for no engine";
  return fmt::format("expected one of the {} engines that are named already: no more can be",
                     kMaxEngines);
}

bool is_composite(EngineId engine) {
  return engine_name(engine).find('+') != std::string_view::npos;
}

bool is_alike_but_precision(const Placement& a, Placement b) {
  b.precision = a.precision;
  return a == b;
}

std::string wait_text(const EventWait& wait) {
  const std::string event = std::to_string(wait.event);
  return wait.record == 1 ? event : event + ":" + std::to_string(wait.record);
}

bool is_alike_for_users(const Placement& a, const Placement& b) {
  if (!a.stream_label.is_chosen && !b.stream_label.is_chosen) return a == b;
  const auto with = [](const Placement& placement) {
    Placement changed = placement;
    if (changed.stream_label.is_chosen) changed.stream_label = {};
    return changed;
  };
  return with(a) == with(b);
}

std::string_view shape_class_name(ShapeClass shapes) {
  return kShapes[static_cast<size_t>(shapes)];
}

}  // namespace sluice
