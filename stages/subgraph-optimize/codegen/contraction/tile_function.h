// A tile function while it is being emitted: its parameters, and what it does with complete sums.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include "stages/subgraph-optimize/codegen/contraction/microkernel.h"
#include "stages/subgraph-optimize/codegen/emit/elements.h"

namespace sluice {

class TileFunction {
 public:
  // Begins the function, whose parameters are those that microkernel.h says.
  TileFunction(KernelBuilder& builder, const std::string& name, const TileShape& shape,
               const TileOutput& output);

  llvm::Value* a() { return function_->getArg(0); }
  llvm::Value* b() { return function_->getArg(1); }
  // Returns the lanes of the last vector that exist.
  llvm::Value* active();

  // Returns which lanes of a vector exist.
  llvm::Value* mask_of(int vector);
  // Returns a vector of the tile's columns, of which those that do not exist are not touched.
  llvm::Value* load(Elements& from, llvm::Value* pointer, int vector);

  // Emits C[i][j] = epilogue(sums[i * vectors + j]) and ends the function. This is written out;
  // with a long epilogue it is a loop over rows, the sums on the stack.
  llvm::Function* finish(const IrValues& sums);

 private:
  int known_active(int vector) const;  // 0 when it is known only as the kernel runs
  Elements operand_elements(int operand);
  llvm::Value* row_offset(const TileRows& rows, llvm::Value* row);
  llvm::Value* operand_address(int operand, llvm::Value* row, int vector);
  llvm::Value* result_address(Elements& stored, llvm::Value* row, int vector);
  llvm::Value* load_operand(int operand, llvm::Value* row, int vector);
  bool is_same_for_all_rows(int operand) const;
  IrValues shared_operands(int vector);
  void finish_vector(llvm::Value* sum, llvm::Value* row, int vector, const IrValues& shared);
  void finish_unrolled(const IrValues& sums);
  void finish_in_loop(const IrValues& sums);

  KernelBuilder& b_;
  const TileShape& shape_;
  const TileOutput& output_;
  llvm::Function* function_ = nullptr;
  llvm::Value* mask_ = nullptr;  // of the last vector, where it is known only as the kernel runs
};

}  // namespace sluice
