// Emits the activations of recurrent cells for all lanes of a vector.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include "common/target/recurrent_cell.h"
#include "stages/subgraph-optimize/codegen/emit/math.h"

namespace sluice {

llvm::Value* emit_activation(llvm::IRBuilder<>& ir, MathEmitter& math,
                             const CellActivation& activation, llvm::Value* x);

}  // namespace sluice
