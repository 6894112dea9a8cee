// The elements of an operand of a contraction: f32, f16 or bf16 in memory, f32 in registers.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include "common/base/dtype.h"
#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

class Elements {
 public:
  Elements(KernelBuilder& builder, DType dtype) : b_(builder), dtype_(dtype) {}

  DType dtype() const { return dtype_; }
  bool is_half() const { return dtype_ != DType::kF32; }
  int64_t bytes() const { return is_half() ? 2 : 4; }

  // Addresses: offsets count elements.
  llvm::Value* at(llvm::Value* pointer, llvm::Value* offset);
  llvm::Value* at(llvm::Value* pointer, int64_t offset) {
    return offset == 0 ? pointer : at(pointer, b_.index(offset));
  }
  // Returns the same for an address that may lie outside of its tensor, and is then never read.
  llvm::Value* at_anywhere(llvm::Value* pointer, llvm::Value* offset);

  // These have the meaning of the functions of KernelBuilder with the same names.
  llvm::Value* load(llvm::Value* pointer);
  llvm::Value* load_vector(llvm::Value* pointer, int lanes, int active);
  llvm::Value* load_masked(llvm::Value* pointer, int lanes, llvm::Value* mask);
  llvm::Value* gather(llvm::Value* pointer, llvm::Value* offsets, llvm::Value* mask);
  // Stores round half to even.
  void store(llvm::Value* scalar, llvm::Value* pointer);
  void store_vector(llvm::Value* vector, llvm::Value* pointer, int active);
  void store_masked(llvm::Value* vector, llvm::Value* pointer, llvm::Value* mask);

 private:
  llvm::Type* element_type();
  llvm::Type* bits_type(int lanes);
  llvm::Value* widened(llvm::Value* bits);
  llvm::Value* narrowed(llvm::Value* floats);

  KernelBuilder& b_;
  DType dtype_;
};

}  // namespace sluice
