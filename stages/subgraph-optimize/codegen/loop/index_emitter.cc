#include "stages/subgraph-optimize/codegen/loop/index_emitter.h"

#include <numeric>

namespace sluice {

using llvm::Value;

Value* IndexEmitter::symbol_number(SymbolId symbol) {
  const loop::LoopSymbol& own = graph_.symbols[static_cast<size_t>(symbol)];
  switch (own.role) {
    case loop::SymbolRole::kSize:
      return b_.value(Extent::of_symbol(static_cast<uint16_t>(own.index), own.nominal));
    case loop::SymbolRole::kAxis:
      return axes_.at(symbol);
    case loop::SymbolRole::kValue:
      return value_of_(own.index);
  }
  return nullptr;
}

Value* IndexEmitter::combined(const Expression& e, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = b_.ir();
  switch (e.op) {
    case ExpressionOp::kAdd:
      return ir.CreateAdd(a, b);
    case ExpressionOp::kMul:
      return ir.CreateMul(a, b);
    case ExpressionOp::kMin:
      return ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
    case ExpressionOp::kMax:
      return ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
    default:
      break;
  }
  if (graph_.expressions.bounds(e.a).low >= 0) return ir.CreateUDiv(a, b);
  Value* quotient = ir.CreateSDiv(a, b);
  Value* remainder = ir.CreateSub(a, ir.CreateMul(quotient, b));
  Value* zero = llvm::Constant::getNullValue(a->getType());
  Value* is_below = ir.CreateICmpSLT(remainder, zero);
  return ir.CreateSub(quotient, ir.CreateZExt(is_below, a->getType()));
}

Value* IndexEmitter::number(ExpressionId id) {
  const Expression& e = graph_.expressions[id];
  if (e.op == ExpressionOp::kConstant) return b_.index(e.value);
  if (e.op == ExpressionOp::kSymbol) return symbol_number(static_cast<SymbolId>(e.value));
  Value* a = number(e.a);
  return combined(e, a, number(e.b));
}

bool IndexEmitter::is_uniform(ExpressionId id, SymbolId lane_symbol) {
  const Expression& e = graph_.expressions[id];
  if (e.op == ExpressionOp::kConstant) return true;
  if (e.op != ExpressionOp::kSymbol)
    return is_uniform(e.a, lane_symbol) && is_uniform(e.b, lane_symbol);
  if (e.value == lane_symbol) return false;
  const loop::LoopSymbol& own = graph_.symbols[static_cast<size_t>(e.value)];
  return own.role != loop::SymbolRole::kValue || !value_of_(own.index)->getType()->isVectorTy();
}

bool IndexEmitter::fits_32_bits(ExpressionId id, SymbolId lane_symbol) const {
  const Interval range = graph_.expressions.bounds(id);
  if (range.low < INT32_MIN || range.high > INT32_MAX) return false;
  const Expression& e = graph_.expressions[id];
  if (e.op == ExpressionOp::kConstant || e.op == ExpressionOp::kSymbol) return true;
  return fits_32_bits(e.a, lane_symbol) && fits_32_bits(e.b, lane_symbol);
}

Value* IndexEmitter::lanes(ExpressionId id, SymbolId lane_symbol, int lanes) {
  llvm::Type* element = fits_32_bits(id, lane_symbol) ? b_.ir().getInt32Ty() : b_.ir().getInt64Ty();
  return lanes_of(id, lane_symbol, lanes, element);
}

Value* IndexEmitter::lanes_of(ExpressionId id, SymbolId lane_symbol, int lanes,
                              llvm::Type* element) {
  llvm::IRBuilder<>& ir = b_.ir();
  if (is_uniform(id, lane_symbol)) return b_.broadcast(ir.CreateTrunc(number(id), element), lanes);
  const Expression& e = graph_.expressions[id];
  if (e.op != ExpressionOp::kSymbol) {
    Value* a = lanes_of(e.a, lane_symbol, lanes, element);
    return combined(e, a, lanes_of(e.b, lane_symbol, lanes, element));
  }
  if (e.value != lane_symbol) {
    const int32_t from = graph_.symbols[static_cast<size_t>(e.value)].index;
    return ir.CreateTrunc(value_of_(from), llvm::FixedVectorType::get(element, lanes));
  }
  std::vector<llvm::Constant*> counts;
  for (int i = 0; i < lanes; ++i)
    counts.push_back(llvm::ConstantInt::get(element, static_cast<uint64_t>(i)));
  Value* first = ir.CreateTrunc(axes_.at(lane_symbol), element);
  return ir.CreateAdd(b_.broadcast(first, lanes), llvm::ConstantVector::get(counts));
}

}  // namespace sluice
