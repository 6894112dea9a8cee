// Where the phases of a transposed convolution (ConvPhases) lie along one axis.
#pragma once

#include <algorithm>

#include "stages/subgraph-optimize/codegen/ceil_div.h"
#include "stages/subgraph-optimize/codegen/codegen.h"

namespace sluice {

// Returns the number of positions of phase r before the result's first element.
inline int64_t phase_shift(int64_t r, int64_t stride, int64_t cut) {
  return ceil_div(std::max<int64_t>(cut - r, 0), stride);
}

// Returns the place, below the stride, of phase r's elements in the result.
inline int64_t phase_place(int64_t r, int64_t stride, int64_t cut) {
  return r + stride * phase_shift(r, stride, cut) - cut;
}

}  // namespace sluice
