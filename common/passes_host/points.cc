#include "common/passes_host/points.h"

#include <algorithm>
#include <iterator>

namespace sluice {
namespace {

// The first four are those of rules (common/rules/places.cc).
constexpr PassPoint kPoints[] = {
    {"before-infer-shape", "preprocess", "normalize-zipmap", false, false},
    {"after-infer-shape", "preprocess", "resolve-shapes"},
    {"after-builtin-fusion", "optimize", "fuse-mish"},
    {"after-optimize", "optimize", "store-pieces"},
    // Both see the graph at level lowered, in which nodes name kernels.
    {"before-build", "build", "assign-logical-streams", true},
    {"after-assign-streams", "build", "assign-streams"},
};

}  // namespace

const PassPoint* find_point(std::string_view name) {
  const auto* found = std::ranges::find(kPoints, name, &PassPoint::name);
  return found == std::end(kPoints) ? nullptr : found;
}

std::string point_names(std::string_view stage) {
  std::string names;
  for (const PassPoint& point : kPoints) {
    if (!stage.empty() && point.stage != stage) continue;
    names += (names.empty() ? "" : ", ") + std::string(point.name);
  }
  return names;
}

}  // namespace sluice
