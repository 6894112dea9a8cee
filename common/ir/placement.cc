#include "common/ir/placement.h"

#include <array>

namespace sluice {
namespace {

constexpr std::array<std::string_view, 10> kEngines = {
    "none", "aicore", "vector", "aicpu", "host_cpu",
    "hccl", "dvpp",   "ffts",   "rts",   "aicore+vector"};
constexpr std::array<std::string_view, 3> kShapes = {"fixed", "symbolic", "dynamic"};

}  // namespace

std::string_view engine_name(EngineId engine) { return kEngines[static_cast<size_t>(engine)]; }

EngineId engine_from_name(std::string_view name) {
  for (size_t i = 0; i < kEngines.size(); ++i) {
    if (kEngines[i] == name) return static_cast<EngineId>(i);
  }
  return EngineId::kNone;
}

std::string_view shape_class_name(ShapeClass shapes) {
  return kShapes[static_cast<size_t>(shapes)];
}

}  // namespace sluice
