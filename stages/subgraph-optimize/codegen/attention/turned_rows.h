// Walks several rows of memory at once such that each vector has one element of every row.
#pragma once

#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

struct TurnedRows {
  int lanes = 1;                 // rows
  llvm::Value* count = nullptr;  // elements of each row
  // Return `lanes` elements of a row from index `at` on, and the one there.
  std::function<llvm::Value*(int row, llvm::Value* at)> load_vector;
  std::function<llvm::Value*(int row, llvm::Value* at)> load_one;
};

// Emits:
//
//   for at by lanes: v[row] = load_vector(row, at) (written out); transpose v
//                    use(at + i, v[i]) (written out)
//   for at of the remainder: use(at, load_one(row, at) of every row)
void emit_turned_rows(KernelBuilder& builder, const TurnedRows& rows,
                      const std::function<void(llvm::Value* at, llvm::Value* elements)>& use);

}  // namespace sluice
