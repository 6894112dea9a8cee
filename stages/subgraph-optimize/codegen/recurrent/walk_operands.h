// The operands of a walk in memory: where a step of a sequence has its products and its result, and
// a sequence its states.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include "stages/subgraph-optimize/codegen/emit/elements.h"
#include "stages/subgraph-optimize/codegen/recurrent/recurrent.h"

namespace sluice {

struct WalkOperands {
  // Reads the pointers at the start of the kernel; those of absent operands are null.
  WalkOperands(KernelBuilder& builder, const RecurrentSpec& spec);

  llvm::Value* products_at(llvm::Value* step, llvm::Value* sequence, llvm::Value* direction);
  llvm::Value* result_at(llvm::Value* step, llvm::Value* sequence, llvm::Value* direction);
  // Returns the place in a tensor of states.
  llvm::Value* state_at(llvm::Value* states, llvm::Value* sequence, llvm::Value* direction);
  // Returns the steps of a sequence, from 0 to all.
  llvm::Value* length_of(llvm::Value* sequence);

  llvm::Value *y, *y_h, *y_c, *products, *weights, *bias, *lengths, *h, *c, *peepholes;
  llvm::Value* steps;
  Elements elements;  // of all but lengths and products

 private:
  KernelBuilder& b_;
  const RecurrentSpec& spec_;
};

}  // namespace sluice
