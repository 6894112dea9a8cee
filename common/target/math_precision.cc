#include "common/target/math_precision.h"

#include <algorithm>
#include <iterator>

namespace sluice {
namespace {

constexpr std::string_view kNames[] = {"default", "high_precision", "high_performance"};

}  // namespace

std::string_view math_precision_name(MathPrecision precision) {
  return kNames[static_cast<size_t>(precision)];
}

std::optional<MathPrecision> math_precision_from_name(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<MathPrecision>(found - std::begin(kNames));
}

}  // namespace sluice
