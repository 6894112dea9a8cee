// How two values of an accumulator become one.
//
// It knows the accumulator's kind and numbers only, not where they come from. Include it only in
// files that emit IR: it brings LLVM's headers.
#pragma once

#include "common/loop/loop_graph.h"
#include "stages/subgraph-optimize/codegen/emit/scalar.h"

namespace sluice {

inline bool has_position(const loop::Accumulator& accumulator) {
  return accumulator.combine == loop::Combine::kArgMax ||
         accumulator.combine == loop::Combine::kArgMin;
}

class CombineEmitter {
 public:
  struct Best {
    llvm::Value* key;
    llvm::Value* position;  // null where the accumulator has none
  };

  CombineEmitter(KernelBuilder& builder, MathPrecision precision)
      : b_(builder), scalar_(builder, precision) {}

  llvm::Value* neutral(const loop::Accumulator& accumulator);
  llvm::Value* combine(const loop::Accumulator& accumulator, llvm::Value* a, llvm::Value* b);
  // Of maxima and minima, where a fresh NaN does not count.
  llvm::Value* number_extreme(const loop::Accumulator& accumulator, llvm::Value* so_far,
                              llvm::Value* fresh);
  // Whether a key is better than the best so far. Of equal ones the first or the last position is.
  llvm::Value* is_better(const loop::Accumulator& accumulator, const Best& fresh, const Best& best);

 private:
  llvm::Constant* neutral_extreme(const loop::Accumulator& accumulator, llvm::Type* type);
  llvm::Value* extreme(const loop::Accumulator& accumulator, llvm::Value* so_far,
                       llvm::Value* fresh);

  KernelBuilder& b_;
  ScalarEmitter scalar_;
};

}  // namespace sluice
