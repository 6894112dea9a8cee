// Produces the bytes of constants while they are written.
#pragma once

#include <cstdint>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/omfile/om_writer.h"
#include "stages/build/weights/layout_weights.h"

namespace sluice {

// Writes these constants to the output, in order, on the calling thread, each in one or more pieces
// at its offset in the weights region. Constant
// expressions and splats are evaluated in tiles by `threads` other threads, a few tiles ahead; the
// other constants are written from their files. Returns the evaluation error of the first constant
// that has one, kMissingSegment, or the output's error.
Result<void> stream_weights(const Module& module, const std::vector<SegmentId>& constants,
                            const WeightLayout& layout, int64_t threads, const OmOutput& output);

}  // namespace sluice
