// Where the phases of a transposed convolution lie along one axis (ConvPhases), in a kernel.
#pragma once

#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

struct PhasePlace {
  llvm::Value* shift;  // positions before the result's first element
  llvm::Value* place;  // below the stride
};

// Computes phase_shift and phase_place (conv_phases.h).
inline PhasePlace find_phase(KernelBuilder& b, llvm::Value* r, int64_t stride, int64_t cut) {
  llvm::Value* missing = b.max(b.sub(b.index(cut), r), b.index(0));
  llvm::Value* shift = b.ceil_div(missing, b.index(stride));
  return {shift, b.sub(b.add(r, b.mul(shift, stride)), b.index(cut))};
}

}  // namespace sluice
