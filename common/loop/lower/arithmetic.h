// Arithmetic in f64 on the places of samples, for Resize and GridSample. What is known while
// lowering is computed then, as the kernel would.
#pragma once

#include "common/loop/lowering.h"

namespace sluice::loop {

// An element of the result is computed from at most so many of the input.
inline constexpr int64_t kMaxSampleTaps = 64;

Id real_f64(Lowering& l, double value);
Id from_size(Lowering& l, ExpressionId size);

Id add_f64(Lowering& l, Id a, Id b);
Id sub_f64(Lowering& l, Id a, Id b);
Id mul_f64(Lowering& l, Id a, Id b);
Id div_f64(Lowering& l, Id a, Id b);
Id floor(Lowering& l, Id a);
Id less(Lowering& l, Id a, Id b);
Id less_or_equal(Lowering& l, Id a, Id b);
Id folded_select(Lowering& l, Id condition, Id yes, Id no);
Id clamp_f64(Lowering& l, Id x, Id low, Id high);
Id absolute(Lowering& l, Id a);
Id logical(Lowering& l, ScalarOp op, Id a, Id b);  // of bools

// The index of a place in [0, extent); other places give the nearest one. When the extent is 0,
// nothing can be read there (see Lowering::not_empty).
ExpressionId index_of(Lowering& l, Id place, ExpressionId extent);

// The weight of an element at a distance of the sample, for cubic interpolation with coefficient a.
Id cubic_weight(Lowering& l, Id distance, double a);
// 1 at the sample, 0 from a distance of 1 on.
Id linear_weight(Lowering& l, Id distance);

}  // namespace sluice::loop
