#include "stages/subgraph-optimize/codegen/loop/sweep_emitter.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/loop/piece_loops.h"

namespace sluice {

using llvm::Value;

namespace {

// The last loops of a sweep are written out when one has at most this many iterations, and together
// they have at most so many instructions.
constexpr int64_t kMaxWrittenOut = 8;
constexpr int64_t kMaxInstructionsWrittenOut = 32;

}  // namespace

void SweepEmitter::emit() {
  for (size_t sweep = 0; sweep < nest_.flat.nest.sweeps.size(); ++sweep) emit_sweep(sweep);
}

void SweepEmitter::emit_sweep(size_t sweep) {
  if (nest_.is_inner()) values_.set_piece({});
  accumulators_.finish(sweep, emit_axes(sweep, 0, accumulators_.initial_values(sweep)));
}

IrValues SweepEmitter::emit_axes(size_t sweep, size_t number, const IrValues& carried) {
  const std::vector<loop::AxisId>& axes = nest_.sweep(sweep).axes;
  if (number == axes.size()) return emit_iteration(sweep, carried);
  const loop::AxisId id = axes[number];
  if (nest_.is_inner() && number + 1 == axes.size()) return emit_lane_axis(sweep, id, carried);
  if (is_written_out(sweep, number)) return emit_written_out(sweep, number, carried);
  KernelBuilder& b = nest_.builder;
  return b.loop(b.index(0), values_.extent(id), 1, carried, [&](Value* i, const IrValues& now) {
    values_.set_axis(nest_.axis(id).symbol, i);
    return emit_axes(sweep, number + 1, now);
  });
}

IrValues SweepEmitter::emit_lane_axis(size_t sweep, loop::AxisId id, const IrValues& carried) {
  const PieceRange range = {.symbol = nest_.axis(id).symbol,
                            .begin = nest_.builder.index(0),
                            .end = values_.extent(id),
                            .unroll = nest_.plan.unroll};
  IrValues after = emit_pieces(nest_, values_, range, carried,
                               [&](const IrValues& now) { return emit_iteration(sweep, now); });
  values_.set_piece({});
  return after;
}

IrValues SweepEmitter::emit_written_out(size_t sweep, size_t number, const IrValues& carried) {
  const loop::Axis& axis = nest_.axis(nest_.sweep(sweep).axes[number]);
  const int64_t points = *nest_.graph.expressions.as_constant(axis.extent);
  IrValues now = carried;
  for (int64_t i = 0; i < points; ++i) {
    values_.set_axis(axis.symbol, nest_.builder.index(i));
    now = emit_axes(sweep, number + 1, now);
  }
  return now;
}

// Whether this axis of a sweep, and those inside, are written out.
bool SweepEmitter::is_written_out(size_t sweep, size_t number) const {
  const loop::Sweep& own = nest_.sweep(sweep);
  int64_t written = static_cast<int64_t>(own.instructions.size());
  for (; number < own.axes.size(); ++number) {
    const auto known = nest_.graph.expressions.as_constant(nest_.axis(own.axes[number]).extent);
    if (!known || *known > kMaxWrittenOut) return false;
    written *= std::max<int64_t>(*known, 1);
    if (written > kMaxInstructionsWrittenOut) return false;
  }
  return true;
}

IrValues SweepEmitter::emit_iteration(size_t sweep, const IrValues& carried) {
  accumulators_.read(sweep, carried);
  instructions_.emit(sweep);
  IrValues next = accumulators_.next_values(sweep);
  stores_.emit(sweep);
  return next;
}

}  // namespace sluice
