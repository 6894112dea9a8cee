#include "stages/subgraph-optimize/codegen/loop/piece_versions.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "stages/subgraph-optimize/codegen/loop/limits.h"

namespace sluice {

using llvm::Value;

namespace {

// Nests of more instructions are not written twice, with and without guards.
constexpr size_t kMaxVersioned = 48;

std::vector<loop::Guard> guards_of_nest(const loop::Nest& nest) {
  std::vector<loop::Guard> guards;
  for (const loop::Instruction& own : nest.instructions)
    guards.insert(guards.end(), own.guards.begin(), own.guards.end());
  for (const loop::Sweep& sweep : nest.sweeps) {
    for (const loop::Store& store : sweep.stores)
      guards.insert(guards.end(), store.guards.begin(), store.guards.end());
  }
  std::sort(guards.begin(), guards.end());
  guards.erase(std::unique(guards.begin(), guards.end()), guards.end());
  return guards;
}

bool is_false(const Value* condition) {
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition);
  return known != nullptr && known->isZero();
}

// Emits `version` for where the condition holds (null: that is not known), else `otherwise`.
void emit_version(KernelBuilder& builder, Value* condition, const std::function<void()>& version,
                  const std::function<void()>& otherwise) {
  if (condition == nullptr || is_false(condition)) return otherwise();
  builder.if_else(condition, version, otherwise);
}

}  // namespace

PieceVersions::PieceVersions(const PlannedNest& nest, PieceValues& values, GuardEmitter& guards,
                             LoadEmitter& loads, SweepEmitter& sweeps)
    : nest_(nest),
      values_(values),
      guards_(guards),
      loads_(loads),
      sweeps_(sweeps),
      all_(guards_of_nest(nest.flat.nest)) {}

void PieceVersions::emit() {
  PlainOffsets plain = plain_offsets();
  const bool is_plain = all_.empty() && plain.non_negative.empty();
  if (is_plain || nest_.flat.nest.instructions.size() > kMaxVersioned) return sweeps_.emit();
  Value *holds = all_hold(all_), *is_inside = none_is_negative(plain.non_negative);
  holds = holds == nullptr || is_inside == nullptr ? nullptr
                                                   : nest_.builder.ir().CreateAnd(holds, is_inside);
  emit_version(nest_.builder, holds, [&] { emit_plain(plain.offsets); }, [&] { emit_limited(); });
}

void PieceVersions::emit_plain(std::vector<ExpressionId>& offsets) {
  loads_.swap_offsets(offsets);
  emit_without(IgnoredGuards::kAll);
  loads_.swap_offsets(offsets);
}

void PieceVersions::emit_limited() {
  std::vector<loop::Guard> uniform;
  std::ranges::copy_if(all_, std::back_inserter(uniform),
                       [&](const loop::Guard& guard) { return guards_.is_uniform(guard); });
  if (uniform.empty() || uniform.size() == all_.size()) return sweeps_.emit();
  emit_version(
      nest_.builder, all_hold(uniform), [&] { emit_without(IgnoredGuards::kUniform); },
      [&] { sweeps_.emit(); });
}

void PieceVersions::emit_without(IgnoredGuards ignored) {
  guards_.ignore(ignored);
  sweeps_.emit();
  guards_.ignore(IgnoredGuards::kNone);
}

// The offsets of all loads without the limits along the lanes.
PieceVersions::PlainOffsets PieceVersions::plain_offsets() const {
  PlainOffsets all{loads_.offsets(), {}};
  const Piece& piece = values_.piece();
  if (piece.lanes == 1 || piece.lane_symbol < 0 || piece.is_tile || nest_.plan.repeat_axis >= 0)
    return all;
  for (ExpressionId& offset : all.offsets) {
    if (offset < 0) continue;
    const auto plain = without_limits(nest_.graph, offset, piece.lane_symbol);
    if (!plain) continue;
    offset = plain->offset;
    all.non_negative.insert(all.non_negative.end(), plain->non_negative.begin(),
                            plain->non_negative.end());
  }
  return all;
}

// A condition that is enough for the expressions to be 0 or more in all lanes and iterations of the
// piece at hand. Null: it is not known.
Value* PieceVersions::none_is_negative(const std::vector<ExpressionId>& expressions) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  Value* condition = ir.getInt1(true);
  for (const ExpressionId id : expressions) {
    const auto range = extremes(id);
    if (!range) return nullptr;
    condition = ir.CreateAnd(condition, ir.CreateICmpSGE(range->first, nest_.builder.index(0)));
  }
  return condition;
}

// A condition that is enough for the guards to hold in all lanes and iterations of the piece at
// hand. Null: it is not known.
Value* PieceVersions::all_hold(const std::vector<loop::Guard>& guards) {
  llvm::IRBuilder<>& ir = nest_.builder.ir();
  Value* condition = ir.getInt1(true);
  for (const loop::Guard& guard : guards) {
    const auto value = extremes(guard.value), limit = extremes(guard.limit);
    if (!value || !limit) return nullptr;
    condition = ir.CreateAnd(condition, ir.CreateICmpSGE(value->first, nest_.builder.index(0)));
    condition = ir.CreateAnd(condition, ir.CreateICmpSLT(value->second, limit->first));
  }
  return condition;
}

// Of an expression over the piece at hand and all inner axes; nothing when it is not linear in
// them, or mentions loaded values.
std::optional<PieceVersions::Range> PieceVersions::extremes(ExpressionId id) {
  KernelBuilder& b = nest_.builder;
  const Piece& piece = values_.piece();
  Range range(b.index(0), b.index(0));  // from the expression's value at the piece's first point
  const int64_t lanes = int64_t{piece.lanes} * (piece.is_tile ? 1 : piece.copies);
  if ((piece.lane_symbol >= 0 && !add_counted(range, id, piece.lane_symbol, lanes)) ||
      (piece.is_tile && !add_counted(range, id, piece.copy_symbol, piece.copies)))
    return std::nullopt;
  for (const loop::Sweep& sweep : nest_.flat.nest.sweeps) {
    for (const loop::AxisId inner : sweep.axes) {
      if (!add_inner(range, id, inner)) return std::nullopt;
    }
  }
  const std::vector<bool> values(nest_.flat.nest.instructions.size(), true);
  if (expression_differs(nest_.graph, id, {}, values)) return std::nullopt;
  Value* present = values_.number(id);
  return Range(b.add(present, range.first), b.add(present, range.second));
}

// An expression that is linear in a symbol with a known stride.
std::optional<PieceVersions::Linear> PieceVersions::linear_in(SymbolId symbol,
                                                              ExpressionId id) const {
  const auto linear = loop::split_linear(nest_.graph.expressions, id, symbol);
  if (!linear) return std::nullopt;
  const auto stride = nest_.graph.expressions.as_constant(linear->stride);
  if (!stride) return std::nullopt;
  return Linear{*stride, linear->remainder};
}

// The lane axis, and that of a tile, count on from their present values.
bool PieceVersions::add_counted(Range& range, ExpressionId id, SymbolId symbol, int64_t points) {
  const auto linear = linear_in(symbol, id);
  if (!linear) return false;
  Value*& end = linear->stride > 0 ? range.second : range.first;
  end = nest_.builder.add(end, nest_.builder.index(linear->stride * (points - 1)));
  return true;
}

// An inner axis has all its values; what remains of the expression does not mention it.
bool PieceVersions::add_inner(Range& range, ExpressionId& id, loop::AxisId axis) {
  KernelBuilder& b = nest_.builder;
  const SymbolId symbol = nest_.axis(axis).symbol;
  Value* span = b.sub(values_.extent(axis), b.index(1));
  if (!loop::mentions(nest_.graph.expressions, id, symbol)) return true;
  const auto linear = linear_in(symbol, id);
  if (!linear) return false;
  Value*& end = linear->stride > 0 ? range.second : range.first;
  end = b.add(end, b.mul(span, linear->stride));
  id = linear->remainder;
  return true;
}

}  // namespace sluice
