// Emits expressions over sizes, axes and loaded values: one number, or one for each lane.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include <functional>
#include <unordered_map>

#include "common/loop/loop_graph.h"
#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

class IndexEmitter {
 public:
  // Returns the value of an i64 instruction: a number, or one for each lane.
  using ValueOf = std::function<llvm::Value*(loop::InstructionId id)>;

  IndexEmitter(KernelBuilder& builder, const loop::LoopGraph& graph, ValueOf value_of)
      : b_(builder), graph_(graph), value_of_(std::move(value_of)) {}

  // The present value of an axis, i64.
  void set_axis(SymbolId symbol, llvm::Value* value) { axes_[symbol] = value; }
  llvm::Value* axis(SymbolId symbol) const { return axes_.at(symbol); }

  llvm::Value* number(ExpressionId id);  // i64; every value that it mentions is one number
  // Vectors of i32 where all parts fit, else of i64. `lane_symbol` counts up from its present value
  // by one a lane.
  llvm::Value* lanes(ExpressionId id, SymbolId lane_symbol, int lanes);

 private:
  llvm::Value* symbol_number(SymbolId symbol);
  llvm::Value* combined(const Expression& e, llvm::Value* a, llvm::Value* b);
  bool fits_32_bits(ExpressionId id, SymbolId lane_symbol) const;
  bool is_uniform(ExpressionId id, SymbolId lane_symbol);
  llvm::Value* lanes_of(ExpressionId id, SymbolId lane_symbol, int lanes, llvm::Type* element);

  KernelBuilder& b_;
  const loop::LoopGraph& graph_;
  ValueOf value_of_;
  std::unordered_map<SymbolId, llvm::Value*> axes_;
};

}  // namespace sluice
