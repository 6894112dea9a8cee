// The instructions and stores of a sweep, for all copies and lanes of the piece at hand.
#include <algorithm>
#include <bit>

#include "stages/subgraph-optimize/codegen/emit/register_transpose.h"
#include "stages/subgraph-optimize/codegen/loop/nest_emitter.h"

namespace sluice {

using llvm::Value;
using loop::InstructionId;
using loop::InstructionKind;

Value* NestEmitter::value(InstructionId id, int copy) {
  const IrValues& own = values_[static_cast<size_t>(id)];
  return own.size() == 1 ? own[0] : own[static_cast<size_t>(copy)];
}

Value* NestEmitter::both(Value* a, Value* b) {
  if (a == nullptr) return b;
  return b == nullptr ? a : b_.ir().CreateAnd(widened(a), widened(b));
}

bool NestEmitter::differs(ExpressionId id) const {
  return piece_.lanes > 1 && lane_symbol_ >= 0 &&
         expression_differs(graph_, id, {lane_symbol_}, by_lane_);
}

bool NestEmitter::differs_by_copy(ExpressionId id) const {
  return piece_.copies > 1 &&
         expression_differs(graph_, id, {copy_symbol_}, piece_.is_tile ? by_tile_ : by_lane_);
}

// Instructions are computed for all copies before the next one, so that vectors side by side hide
// each other's latencies.
void NestEmitter::emit_instructions(size_t sweep) {
  for (const InstructionId id : flat_.nest.sweeps[sweep].instructions) {
    const auto i = static_cast<size_t>(id);
    if (part_ != Part::kAll && inside_[i] != (part_ == Part::kInside)) continue;
    if (piece_.is_tile && load_tile(id)) continue;
    const std::vector<bool>& by_copy = piece_.is_tile ? by_tile_ : by_lane_;
    const int copies = by_copy[i] ? piece_.copies : 1;
    values_[i].clear();
    for (int copy = 0; copy < copies; ++copy) {
      copy_in_hand_ = copy;
      scalar_.set_active(present(copy));
      Value* made = emit_instruction(id, copy);
      values_[i].push_back(made);
    }
    copy_in_hand_ = 0;
  }
}

Value* NestEmitter::emit_instruction(InstructionId id, int copy) {
  const loop::Instruction& own = instruction(id);
  switch (own.kind) {
    case InstructionKind::kConstant:
      return scalar_constant(b_, own.dtype, own.bits);
    case InstructionKind::kIndex: {
      if (!differs(own.index)) return expression_number(own.index, copy);
      llvm::Type* type = llvm::FixedVectorType::get(b_.index_type(), piece_.lanes);
      return b_.ir().CreateSExt(expression_lanes(own.index, copy), type);
    }
    case InstructionKind::kLoad:
      return emit_load(id, copy);
    case InstructionKind::kTest:
      return guard_condition(own.guards, copy);
    case InstructionKind::kScalar:
      return emit_scalar(own, copy);
    case InstructionKind::kAccumulator:
    case InstructionKind::kPosition: {
      const Carried& from = accumulators_[static_cast<size_t>(own.accumulator)];
      const IrValues& list = own.kind == InstructionKind::kPosition ? from.position : from.value;
      return list.size() == 1 ? list[0] : list[static_cast<size_t>(copy)];
    }
  }
  return nullptr;
}

Value* NestEmitter::emit_scalar(const loop::Instruction& own, int copy) {
  IrValues operands;
  bool any_lanes = false;
  for (int i = 0; i < loop::scalar_row(own.op).operands; ++i) {
    operands.push_back(value(own.operands[static_cast<size_t>(i)], copy));
    any_lanes = any_lanes || operands.back()->getType()->isVectorTy();
  }
  if (any_lanes) {
    for (Value*& operand : operands) operand = widened(operand);
  }
  const InstructionId first = own.operands[own.op == loop::ScalarOp::kSelect ? 1 : 0];
  if (own.op == loop::ScalarOp::kCast && dtype_is_integer(own.dtype) && is_within_i32(first))
    return scalar_.truncate_within_i32(operands[0], own.dtype);
  return scalar_.emit(own.op, instruction(first).dtype, own.dtype, operands);
}

// Reals that are known to be no NaN, and whose integers fit i32.
bool NestEmitter::is_within_i32(InstructionId id) const {
  const loop::RealRange& range = ranges_[static_cast<size_t>(id)];
  return dtype_is_float(instruction(id).dtype) && !range.may_be_nan && range.low >= -0x1p31 &&
         range.high < 0x1p31;
}

// ---- expressions

// The value for a copy: the axis of copies counts on from its present value.
Value* NestEmitter::expression_number(ExpressionId id, int copy) {
  if (copy == 0 || !differs_by_copy(id)) return index_.number(id);
  Value* first = index_.axis(copy_symbol_);
  index_.set_axis(copy_symbol_,
                  b_.add(first, b_.index(piece_.is_tile ? copy : copy * piece_.lanes)));
  Value* number = index_.number(id);
  index_.set_axis(copy_symbol_, first);
  return number;
}

Value* NestEmitter::expression_lanes(ExpressionId id, int copy) {
  Value* first = copy_symbol_ < 0 ? nullptr : index_.axis(copy_symbol_);
  if (copy > 0)
    index_.set_axis(copy_symbol_,
                    b_.add(first, b_.index(piece_.is_tile ? copy : copy * piece_.lanes)));
  Value* lanes = index_.lanes(id, lane_symbol_, piece_.lanes);
  if (copy > 0) index_.set_axis(copy_symbol_, first);
  return lanes;
}

// All guards hold: one bool, or one for each lane.
Value* NestEmitter::guard_condition(const std::vector<loop::Guard>& guards, int copy) {
  Value* condition = nullptr;
  for (const loop::Guard& guard : guards) {
    if (is_ignored(guard)) continue;
    Value* holds = nullptr;
    if (differs(guard.value) || differs(guard.limit)) {
      Value* at = expression_lanes(guard.value, copy);
      Value* limit = expression_lanes(guard.limit, copy);
      if (at->getType() != limit->getType()) {
        llvm::Type* type = llvm::FixedVectorType::get(b_.index_type(), piece_.lanes);
        at = b_.ir().CreateSExt(at, type), limit = b_.ir().CreateSExt(limit, type);
      }
      holds = b_.ir().CreateICmpULT(at, limit);
    } else {
      holds = b_.ir().CreateICmpULT(expression_number(guard.value, copy),
                                    expression_number(guard.limit, copy));
    }
    condition = condition == nullptr ? holds
                : holds->getType() == condition->getType()
                    ? b_.ir().CreateAnd(condition, holds)
                    : b_.ir().CreateAnd(widened(condition), widened(holds));
  }
  return condition == nullptr ? b_.ir().getInt1(true) : condition;
}

// Computes `value` only where the condition holds, by a branch.
Value* NestEmitter::under(Value* condition, const std::function<Value*()>& value,
                          Value* otherwise) {
  Value* made = nullptr;
  llvm::BasicBlock *yes = nullptr, *no = nullptr;
  b_.if_else(
      condition,
      [&] {
        made = value();
        yes = b_.ir().GetInsertBlock();
      },
      [&] { no = b_.ir().GetInsertBlock(); });
  const auto widened_in = [&](llvm::BasicBlock* block, Value* number) {
    llvm::IRBuilderBase::InsertPointGuard guard(b_.ir());
    b_.ir().SetInsertPoint(block->getTerminator());
    return widened(number);
  };
  if (made->getType() != otherwise->getType()) {
    made = widened_in(yes, made);
    otherwise = widened_in(no, otherwise);
  }
  llvm::PHINode* phi = b_.ir().CreatePHI(made->getType(), 2);
  phi->addIncoming(made, yes);
  phi->addIncoming(otherwise, no);
  return phi;
}

}  // namespace sluice
