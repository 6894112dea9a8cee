#include "stages/subgraph-optimize/codegen/loop/tile_loads.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/emit/register_transpose.h"

namespace sluice {

using llvm::Value;
using loop::InstructionId;

TileLoads::TileLoads(const PlannedNest& nest, PieceValues& values, GuardEmitter& guards,
                     MemoryElements& memory)
    : nest_(nest), values_(values), guards_(guards), memory_(memory) {
  if (nest.plan.tile_axis < 0) return;
  std::vector<SymbolId> both = lane_symbols(nest);
  both.push_back(nest.axis(nest.plan.tile_axis).symbol);
  by_square_ = differing_instructions(nest.graph, nest.flat, both, false);
}

std::optional<IrValues> TileLoads::load(InstructionId id) {
  const Piece& piece = values_.piece();
  if (!piece.is_tile ||
      !is_tile_load(nest_.graph, nest_.flat, id, piece.lane_symbol, piece.copy_symbol, by_square_))
    return std::nullopt;
  const loop::Instruction& own = nest_.instruction(id);
  IrValues rows = load_rows(own, nest_.flat.load_offsets[static_cast<size_t>(id)]);
  const bool is_guarded = !guards_.are_ignored(own.guards);
  Value* condition = is_guarded ? values_.widened(guards_.condition(own.guards, 0)) : nullptr;
  for (Value*& row : rows) {
    row = memory_.from_memory(nest_.buffer(own.access.buffer).dtype, row);
    if (!is_guarded) continue;
    Value* otherwise = values_.value(own.operands[0], 0);
    row = nest_.builder.ir().CreateSelect(condition, row, values_.widened(otherwise));
  }
  return rows;
}

// As they are in memory, transposed.
IrValues TileLoads::load_rows(const loop::Instruction& own, ExpressionId offset) {
  const Piece& piece = values_.piece();
  Value* first = memory_.address({own.access.buffer, offset}, 0);
  Value* stride = values_.number(
      loop::split_linear(nest_.graph.expressions, offset, piece.lane_symbol)->stride);
  IrValues rows;
  for (int lane = 0; lane < piece.lanes; ++lane) rows.push_back(load_row(own, first, stride, lane));
  transpose_in_registers(nest_.builder, rows);
  return rows;
}

// The elements of a lane along the tile axis, at `stride` from those of the lane before; zeros
// where the guards do not hold.
Value* TileLoads::load_row(const loop::Instruction& own, Value* first, Value* stride, int lane) {
  KernelBuilder& b = nest_.builder;
  const Piece& piece = values_.piece();
  const DType dtype = nest_.buffer(own.access.buffer).dtype;
  auto* vector = memory_.vector_type(dtype);
  Value* zeros = llvm::Constant::getNullValue(vector);
  // Lanes that are not there read the last one's row.
  Value* there = b.index(lane);
  if (piece.rows != nullptr) there = b.min(there, b.sub(piece.rows, b.index(1)));
  const auto load = [&]() -> Value* {
    Value* from = b.ir().CreateGEP(memory_.type(dtype), first, b.mul(stride, there));
    if (piece.rows == nullptr) return b.ir().CreateAlignedLoad(vector, from, alignment_of(dtype));
    return b.ir().CreateMaskedLoad(vector, from, alignment_of(dtype), piece.columns, zeros);
  };
  Value* holds = guards_hold(own.guards, there);
  // A row that is known not to be there may lie after the operand's end.
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(holds))
    return known->isOne() ? load() : zeros;
  return guards_.under(holds, load, zeros);
}

// Whether the guards hold for a lane, in all copies.
Value* TileLoads::guards_hold(const std::vector<loop::Guard>& guards, Value* lane) {
  KernelBuilder& b = nest_.builder;
  const SymbolId symbol = values_.piece().lane_symbol;
  Value* begin = values_.axis(symbol);
  values_.set_axis(symbol, b.add(begin, lane));
  Value* holds = b.ir().getInt1(true);
  for (const loop::Guard& guard : guards) {
    if (!guards_.is_ignored(guard))
      holds = b.ir().CreateAnd(holds, guards_.uniform_condition(guard, 0));
  }
  values_.set_axis(symbol, begin);
  return holds;
}

}  // namespace sluice
