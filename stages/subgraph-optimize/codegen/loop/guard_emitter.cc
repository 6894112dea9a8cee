#include "stages/subgraph-optimize/codegen/loop/guard_emitter.h"

#include <algorithm>

namespace sluice {

using llvm::Value;

bool GuardEmitter::are_ignored(const std::vector<loop::Guard>& guards) const {
  return std::ranges::all_of(guards, [&](const loop::Guard& guard) { return is_ignored(guard); });
}

Value* GuardEmitter::condition(const std::vector<loop::Guard>& guards, int copy) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  Value* condition = nullptr;
  for (const loop::Guard& guard : guards) {
    if (is_ignored(guard)) continue;
    Value* holds =
        is_uniform(guard) ? uniform_condition(guard, copy) : lanes_condition(guard, copy);
    condition = condition == nullptr ? holds
                : holds->getType() == condition->getType()
                    ? ir.CreateAnd(condition, holds)
                    : ir.CreateAnd(values_.widened(condition), values_.widened(holds));
  }
  return condition == nullptr ? ir.getInt1(true) : condition;
}

Value* GuardEmitter::uniform_condition(const loop::Guard& guard, int copy) {
  return nest_.builder.ir().CreateICmpULT(values_.number(guard.value, copy),
                                          values_.number(guard.limit, copy));
}

Value* GuardEmitter::lanes_condition(const loop::Guard& guard, int copy) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  Value* at = values_.lanes(guard.value, copy);
  Value* limit = values_.lanes(guard.limit, copy);
  if (at->getType() != limit->getType()) {
    llvm::Type* type =
        llvm::FixedVectorType::get(nest_.builder.index_type(), values_.piece().lanes);
    at = ir.CreateSExt(at, type), limit = ir.CreateSExt(limit, type);
  }
  return ir.CreateICmpULT(at, limit);
}

Value* GuardEmitter::neighbours_below(const loop::Guard& guard, int copy) {
  for (const ExpressionId id : {guard.value, guard.limit}) {
    const Interval range = nest_.graph.expressions.bounds(id);
    if (range.low < -(int64_t{1} << 30) || range.high > (int64_t{1} << 30)) return nullptr;
  }
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  const int count = values_.piece().lanes;
  const auto spread = [&](ExpressionId id) {
    return nest_.builder.broadcast(ir.CreateTrunc(values_.number(id, copy), ir.getInt32Ty()),
                                   count);
  };
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(ir.getInt32(static_cast<uint32_t>(i)));
  Value* values = ir.CreateAdd(spread(guard.value), llvm::ConstantVector::get(numbers));
  return ir.CreateICmpULT(values, spread(guard.limit));
}

Value* GuardEmitter::under(Value* condition, const std::function<Value*()>& value,
                           Value* otherwise) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  Value* made = nullptr;
  llvm::BasicBlock *yes = nullptr, *no = nullptr;
  nest_.builder.if_else(
      condition,
      [&] {
        made = value();
        yes = ir.GetInsertBlock();
      },
      [&] { no = ir.GetInsertBlock(); });
  if (made->getType() != otherwise->getType()) {
    made = widened_in(yes, made);
    otherwise = widened_in(no, otherwise);
  }
  llvm::PHINode* phi = ir.CreatePHI(made->getType(), 2);
  phi->addIncoming(made, yes);
  phi->addIncoming(otherwise, no);
  return phi;
}

// Widens a number at the end of a block that has been emitted.
Value* GuardEmitter::widened_in(llvm::BasicBlock* block, Value* number) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  llvm::IRBuilderBase::InsertPointGuard guard(ir);
  ir.SetInsertPoint(block->getTerminator());
  return values_.widened(number);
}

}  // namespace sluice
