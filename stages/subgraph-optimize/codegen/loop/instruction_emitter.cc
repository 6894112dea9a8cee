#include "stages/subgraph-optimize/codegen/loop/instruction_emitter.h"

#include <algorithm>

namespace sluice {

using llvm::Value;
using loop::InstructionId;
using loop::InstructionKind;

InstructionEmitter::InstructionEmitter(const PlannedNest& nest, PieceValues& values,
                                       GuardEmitter& guards, LoadEmitter& loads, TileLoads& tiles,
                                       const AccumulatorEmitter& accumulators,
                                       MathPrecision precision)
    : nest_(nest),
      values_(values),
      guards_(guards),
      loads_(loads),
      tiles_(tiles),
      accumulators_(accumulators),
      scalar_(nest.builder, precision),
      inside_(values.by_lane()) {
  if (nest.plan.repeat_axis < 0) return;
  inside_ = differing_instructions(nest.graph, nest.flat, {nest.axis(nest.plan.repeat_axis).symbol},
                                   false);
}

bool InstructionEmitter::has_part_before(size_t sweep) const {
  return std::ranges::any_of(nest_.sweep(sweep).instructions, [&](InstructionId id) {
    return !is_inside(id) && nest_.instruction(id).kind != InstructionKind::kConstant;
  });
}

// Instructions are computed for all copies before the next one, so that vectors side by side hide
// each other's latencies.
void InstructionEmitter::emit(size_t sweep) {
  for (const InstructionId id : nest_.sweep(sweep).instructions) {
    if (part_ != Part::kAll && is_inside(id) != (part_ == Part::kInside)) continue;
    if (std::optional<IrValues> tile = tiles_.load(id)) {
      values_.set(id, std::move(*tile));
      continue;
    }
    IrValues made;
    values_.each_copy(values_.copies_of(id), [&](int copy) {
      scalar_.set_active(values_.present(copy));
      made.push_back(emit_instruction(id, copy));
    });
    values_.set(id, std::move(made));
  }
}

Value* InstructionEmitter::emit_instruction(InstructionId id, int copy) {
  const loop::Instruction& own = nest_.instruction(id);
  switch (own.kind) {
    case InstructionKind::kConstant:
      return scalar_constant(nest_.builder, own.dtype, own.bits);
    case InstructionKind::kIndex:
      return emit_index(own.index, copy);
    case InstructionKind::kLoad:
      return loads_.emit(id, copy);
    case InstructionKind::kTest:
      return guards_.condition(own.guards, copy);
    case InstructionKind::kScalar:
      return emit_scalar(own, copy);
    case InstructionKind::kAccumulator:
      return accumulators_.value(own.accumulator, copy);
    case InstructionKind::kPosition:
      return accumulators_.position(own.accumulator, copy);
  }
  return nullptr;
}

Value* InstructionEmitter::emit_index(ExpressionId index, int copy) {
  if (!values_.differs(index)) return values_.number(index, copy);
  KernelBuilder& b = nest_.builder;
  llvm::Type* type = llvm::FixedVectorType::get(b.index_type(), values_.piece().lanes);
  return b.ir().CreateSExt(values_.lanes(index, copy), type);
}

Value* InstructionEmitter::emit_scalar(const loop::Instruction& own, int copy) {
  IrValues operands;
  bool any_lanes = false;
  for (int i = 0; i < loop::scalar_row(own.op).operands; ++i) {
    operands.push_back(values_.value(own.operands[static_cast<size_t>(i)], copy));
    any_lanes = any_lanes || operands.back()->getType()->isVectorTy();
  }
  if (any_lanes) {
    for (Value*& operand : operands) operand = values_.widened(operand);
  }
  const InstructionId first = own.operands[own.op == loop::ScalarOp::kSelect ? 1 : 0];
  if (own.op == loop::ScalarOp::kCast && dtype_is_integer(own.dtype) && is_within_i32(first))
    return scalar_.truncate_within_i32(operands[0], own.dtype);
  return scalar_.emit(own.op, nest_.instruction(first).dtype, own.dtype, operands);
}

// Reals that are known to be no NaN, and whose integers fit i32.
bool InstructionEmitter::is_within_i32(InstructionId id) const {
  const loop::RealRange& range = nest_.ranges[static_cast<size_t>(id)];
  return dtype_is_float(nest_.instruction(id).dtype) && !range.may_be_nan && range.low >= -0x1p31 &&
         range.high < 0x1p31;
}

}  // namespace sluice
