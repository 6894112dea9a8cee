// Pairs of bf16: 32 bits that contain the elements of two reduction steps, k in the low half and
// k + 1 in the high one. One instruction of AVX512-BF16 (vdpbf16ps) adds the products of both;
// elsewhere each half is widened in registers and multiplied as f32.
//
// vdpbf16ps rounds its two products together, and takes and gives denormals as zero.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

class Bf16Pairs {
 public:
  explicit Bf16Pairs(KernelBuilder& builder) : b_(builder) {}

  // Returns whether add_products is one instruction.
  bool has_dot_product() const { return b_.profile().bf16_dot_product; }

  // A pair, or a vector of pairs, is held in the bits of floats.
  llvm::Value* load(llvm::Value* pointer);
  llvm::Value* load_vector(llvm::Value* pointer, int lanes);
  // Returns the pairs of two bf16 that are widened already; without `high` it is 0.
  llvm::Value* join(llvm::Value* low, llvm::Value* high);
  // Returns one half as f32: 0 the low, 1 the high one.
  llvm::Value* widened(llvm::Value* pairs, int half);
  // Returns sums + the products of both halves, for profiles that have the instruction.
  llvm::Value* add_products(llvm::Value* sums, llvm::Value* a, llvm::Value* b);

 private:
  llvm::Value* bits_of(llvm::Value* floats);

  KernelBuilder& b_;
};

}  // namespace sluice
