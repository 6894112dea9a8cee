// How exact generated functions are (--math): see emit/math.h.
#pragma once

#include <cstdint>

namespace sluice {

enum class MathPrecision : uint8_t { kDefault, kHigh, kPerformance };

}  // namespace sluice
