// Constants in another dtype.
#pragma once

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Returns a segment with the elements of a constant float tensor in another float dtype. Up to
// kFoldLimitBytes they are converted here; a number then stays finite and does not become zero, as
// masks (the least f32) and guards of divisions (1e-12) need. Of a larger constant it is an
// expression, which sluice-build evaluates; of one that was widened from this dtype, what it was
// widened from.
Result<SegmentId> cast_constant(Module& module, const Value& constant, DType dtype);

}  // namespace sluice
