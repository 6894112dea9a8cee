#include "stages/optimize/passes/transposed_phases.h"

#include <algorithm>
#include <numeric>

namespace sluice {
namespace {

int64_t floor_divided(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Finds the taps of the phase whose elements lie at `remainder` modulo the stride, counted from
// where tap 0 puts element 0.
Phase find_taps(const TransposedAxis& axis, int64_t remainder) {
  Phase phase;
  phase.step = axis.stride / std::gcd(axis.stride, axis.dilation);
  phase.dilation = axis.dilation * phase.step / axis.stride;
  for (int64_t k = 0; k < std::min(phase.step, axis.kernel); ++k) {
    if (axis.dilation * k % axis.stride != remainder) continue;
    phase.first = k;
    phase.count = (axis.kernel - 1 - k) / phase.step + 1;
  }
  return phase;
}

}  // namespace

bool has_equal_phases(const TransposedAxis& axis) {
  return axis.stride == 1 || (axis.dilation == 1 && axis.kernel % axis.stride == 0);
}

AxisPhases split_phases(const TransposedAxis& axis, bool aligned) {
  const int64_t stride = axis.stride;
  const int64_t origin = aligned ? axis.pad - floor_divided(axis.pad, stride) * stride : 0;
  AxisPhases result;
  // Position j of phase r is element stride * j + r - origin of the result. The convolutions give
  // positions from `low` on, and up to `high` beyond those of the input.
  int64_t low = 0, high = floor_divided(axis.excess - 1 + origin, stride) + 1;
  std::vector<int64_t> offsets;  // tap t reads element j - offset - dilation * t
  for (int64_t r = 0; r < stride; ++r) {
    const int64_t place = r - origin + axis.pad, shift = floor_divided(place, stride);
    const Phase phase = find_taps(axis, place - shift * stride);
    result.phases.push_back(phase);
    offsets.push_back(axis.dilation * phase.first / stride - shift);
    if (phase.count == 0) continue;
    low = std::min(low, offsets.back() + phase.dilation * (phase.count - 1));
    high = std::max(high, offsets.back());
  }
  for (size_t r = 0; r < offsets.size(); ++r) {
    Phase& phase = result.phases[r];
    phase.begin = offsets[r] + phase.dilation * (phase.count - 1) - low;
    phase.end = high - offsets[r];
  }
  result.added = high - low;
  result.cut_begin = origin - stride * low;
  result.cut_end = stride * high - origin - axis.excess;
  return result;
}

}  // namespace sluice
