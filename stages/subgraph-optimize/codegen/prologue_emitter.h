// Turns a prologue into IR.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include "stages/subgraph-optimize/codegen/kernel_builder.h"

namespace sluice {

class PrologueEmitter {
 public:
  // tile_rows: the most rows that are prepared at once.
  PrologueEmitter(KernelBuilder& builder, const Prologue& prologue, int64_t columns, int tile_rows)
      : b_(builder), prologue_(prologue), columns_(columns), tile_rows_(tile_rows) {}

  // Returns the bytes that it takes at the start of the worker's scratch.
  uint64_t scratch_bytes() const;
  // Writes the function that computes rows. To be called before the kernel is begun.
  void emit_function();
  // Writes its call, for rows [first, first + rows) of the matrix; they then lie in scratch, which
  // is returned, one after the other.
  llvm::Value* prepare(const IrValues& operands, llvm::Value* first, llvm::Value* rows);

 private:
  void emit_nest(const loop::Nest& nest, const IrValues& buffers, llvm::Value* first,
                 llvm::Value* rows);

  KernelBuilder& b_;
  const Prologue& prologue_;
  int64_t columns_;
  int tile_rows_;
  llvm::Function* function_ = nullptr;
};

}  // namespace sluice
