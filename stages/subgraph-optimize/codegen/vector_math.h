// Elementary functions on vectors of f32 as straight-line IR, without any library. Errors are in
// epilogue.h; a test measures them.
#pragma once

#include "stages/subgraph-optimize/codegen/kernel_builder.h"

namespace sluice {

llvm::Value* emit_exp(KernelBuilder& builder, llvm::Value* x);
llvm::Value* emit_tanh(KernelBuilder& builder, llvm::Value* x);
llvm::Value* emit_erf(KernelBuilder& builder, llvm::Value* x);
llvm::Value* emit_sigmoid(KernelBuilder& builder, llvm::Value* x);
// Both return NaN when either operand is NaN.
llvm::Value* emit_max(KernelBuilder& builder, llvm::Value* a, llvm::Value* b);
llvm::Value* emit_min(KernelBuilder& builder, llvm::Value* a, llvm::Value* b);

}  // namespace sluice
