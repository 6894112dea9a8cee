// How exact generated functions are (--math): the errors are those of
// stages/subgraph-optimize/codegen/emit/math.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

enum class MathPrecision : uint8_t { kDefault, kHigh, kPerformance };

// Returns the value of --math: default, high_precision or high_performance.
std::string_view math_precision_name(MathPrecision precision);
std::optional<MathPrecision> math_precision_from_name(std::string_view name);

}  // namespace sluice
