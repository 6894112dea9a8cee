// The bytes of the weights region, made while they are written.
#pragma once

#include <cstdint>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "runtime/loader/om_writer.h"
#include "stages/build/weights/layout_weights.h"

namespace sluice {

// Gives the output every constant of the layout, in order, on the calling thread. Constant
// expressions and splats are evaluated in tiles by `threads` other threads, a few tiles ahead; the
// rest is given as it lies in its file. Errors: those of evaluation, of the first constant that has
// one; kMissingSegment; the output's.
Result<void> stream_weights(const Module& module, const WeightLayout& layout, int64_t threads,
                            const OmOutput& output);

}  // namespace sluice
