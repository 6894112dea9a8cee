#include "stages/subgraph-optimize/codegen/loop/piece_values.h"

namespace sluice {

using llvm::Value;
using loop::InstructionId;

std::vector<SymbolId> lane_symbols(const PlannedNest& nest) {
  std::vector<SymbolId> symbols;
  if (nest.plan.vector == NestPlan::Vector::kOuter)
    symbols.push_back(nest.axis(nest.plan.axis).symbol);
  for (const loop::Sweep& sweep : nest.flat.nest.sweeps) {
    if (nest.is_inner() && !sweep.axes.empty())
      symbols.push_back(nest.axis(sweep.axes.back()).symbol);
  }
  return symbols;
}

PieceValues::PieceValues(const PlannedNest& nest)
    : nest_(nest),
      index_(nest.builder, nest.graph,
             [this](InstructionId id) { return value(id, copy_in_hand_); }),
      values_(nest.flat.nest.instructions.size()),
      by_lane_(differing_instructions(nest.graph, nest.flat, lane_symbols(nest), nest.is_inner())) {
  if (nest.plan.tile_axis < 0) return;
  by_tile_ =
      differing_instructions(nest.graph, nest.flat, {nest.axis(nest.plan.tile_axis).symbol}, false);
}

void PieceValues::each_copy(int copies, const std::function<void(int)>& body) {
  for (int copy = 0; copy < copies; ++copy) {
    copy_in_hand_ = copy;
    body(copy);
  }
  copy_in_hand_ = 0;
}

int PieceValues::copies_of(InstructionId id) const {
  const std::vector<bool>& by_copy = piece_.is_tile ? by_tile_ : by_lane_;
  return by_copy[static_cast<size_t>(id)] ? piece_.copies : 1;
}

void PieceValues::set(InstructionId id, IrValues values) {
  values_[static_cast<size_t>(id)] = std::move(values);
}

Value* PieceValues::value(InstructionId id, int copy) const {
  const IrValues& own = values_[static_cast<size_t>(id)];
  return own.size() == 1 ? own[0] : own[static_cast<size_t>(copy)];
}

bool PieceValues::differs(ExpressionId id) const {
  return piece_.lanes > 1 && piece_.lane_symbol >= 0 &&
         expression_differs(nest_.graph, id, {piece_.lane_symbol}, by_lane_);
}

bool PieceValues::differs_by_copy(ExpressionId id) const {
  return piece_.copies > 1 && expression_differs(nest_.graph, id, {piece_.copy_symbol},
                                                 piece_.is_tile ? by_tile_ : by_lane_);
}

bool PieceValues::mentions_lanes(ExpressionId id) const {
  return expression_differs(nest_.graph, id, {}, by_lane_);
}

// The axis of copies where a copy begins.
Value* PieceValues::at_copy(int copy) const {
  KernelBuilder& b = nest_.builder;
  return b.add(index_.axis(piece_.copy_symbol), b.index(copy * piece_.copy_step()));
}

Value* PieceValues::number(ExpressionId id, int copy) {
  if (copy == 0 || !differs_by_copy(id)) return index_.number(id);
  Value* first = index_.axis(piece_.copy_symbol);
  index_.set_axis(piece_.copy_symbol, at_copy(copy));
  Value* number = index_.number(id);
  index_.set_axis(piece_.copy_symbol, first);
  return number;
}

Value* PieceValues::lanes(ExpressionId id, int copy) {
  if (copy == 0) return index_.lanes(id, piece_.lane_symbol, piece_.lanes);
  Value* first = index_.axis(piece_.copy_symbol);
  index_.set_axis(piece_.copy_symbol, at_copy(copy));
  Value* lanes = index_.lanes(id, piece_.lane_symbol, piece_.lanes);
  index_.set_axis(piece_.copy_symbol, first);
  return lanes;
}

Value* PieceValues::widened(Value* value) const {
  const int lanes = nest_.is_inner() ? nest_.plan.lanes : piece_.lanes;
  return value->getType()->isVectorTy() || lanes == 1 ? value
                                                      : nest_.builder.broadcast(value, lanes);
}

Value* PieceValues::both(Value* a, Value* b) const {
  if (a == nullptr) return b;
  return b == nullptr ? a : nest_.builder.ir().CreateAnd(widened(a), widened(b));
}

}  // namespace sluice
