// Puts the elements of the phases of a transposed convolution into their places in a dense result.
#pragma once

#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

// Writes an internal function void(sums, y, operands..., rows) for one channel: `sums` has
// [phases.h][phases.w][rows][columns], phases in the order of their places and phase_stride
// floats apart; the first ow floats of each row are read. y points at the first of rows * phases.h
// rows of the result, and the epilogue's operands at the channel.
llvm::Function* emit_phase_join(KernelBuilder& builder, const ConvSpec& spec, int64_t columns,
                                int64_t phase_stride);

}  // namespace sluice
