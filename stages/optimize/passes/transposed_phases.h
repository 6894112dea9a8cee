// What a transposed convolution is along one axis: for each phase of its result an ordinary
// convolution.
//
// An element i of the input is added, through tap k of the kernel, to element
//
//   o = stride * i + dilation * k - pad
//
// of the result. So what is added to the elements o = stride * j + r of one phase r comes through
// the taps k with dilation * k = r + pad modulo stride. They are every `step`-th one, and tap t of
// them reads element j - (dilation * step / stride) * t + a constant: a convolution without a
// stride by the taps in reverse.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice {

struct TransposedAxis {
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t pad = 0;     // at the begin
  int64_t excess = 0;  // elements of the result beyond stride * those of the input
};

struct Phase {
  int64_t first = 0, step = 1, count = 0;  // its taps; none: the phase is zeros
  int64_t dilation = 1;                    // of the convolution
  int64_t begin = 0, end = 0;              // its padding
};

// All convolutions give `added` more elements than the input has; of their interleaved results so
// many are cut off at both ends.
struct AxisPhases {
  std::vector<Phase> phases;
  int64_t added = 0;
  int64_t cut_begin = 0, cut_end = 0;
};

// Returns whether all phases can be convolutions of the same size and padding, so that one
// convolution can compute all of them.
bool has_equal_phases(const TransposedAxis& axis);

// Counts phases from the result's first element, or, `aligned`, from where tap 0 puts element 0:
// then equal phases have equal paddings, and the first phase has a tap.
AxisPhases split_phases(const TransposedAxis& axis, bool aligned);

}  // namespace sluice
