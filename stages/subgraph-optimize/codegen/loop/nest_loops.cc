// The loops of a nest:
//
//   for unit in the block's part of (block axes, chunks of the split axis):
//     for rest axes:
//       instructions that all lanes share
//       for lane axis of the chunk, by copies * lanes:            (vector along an outer axis)
//         sweeps: for inner axes: instructions; stores
//
// or, with vectors along the last axis of each sweep, the same without the lane axis. An axis whose
// points share work is inside the lane axis (nest_repeat.cc).
#include <algorithm>

#include "stages/subgraph-optimize/codegen/loop/limits.h"
#include "stages/subgraph-optimize/codegen/loop/nest_emitter.h"

namespace sluice {

using llvm::Value;

namespace {

// Enough parts for any number of threads, and for some to take longer than others.
constexpr int64_t kUnits = 64;
// Nests of more instructions are not written twice, with and without guards.
constexpr size_t kMaxVersioned = 48;
// The elements of a body of so many instructions take long.
constexpr size_t kSlowBody = 24;
// The last loops of a sweep are written out when one has at most this many iterations, and together
// they have at most so many instructions.
constexpr int64_t kMaxWrittenOut = 8;
constexpr int64_t kMaxInstructionsWrittenOut = 32;

bool is_false(const Value* condition) {
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition);
  return known != nullptr && known->isZero();
}

}  // namespace

NestEmitter::NestEmitter(KernelBuilder& builder, loop::LoopGraph& graph, FlatNest nest,
                         const NestPlan& plan, const BufferAddresses& buffers,
                         MathPrecision precision)
    : b_(builder),
      graph_(graph),
      flat_(std::move(nest)),
      plan_(plan),
      buffers_(buffers),
      scalar_(builder, precision),
      index_(builder, graph, [this](loop::InstructionId id) { return value(id, copy_in_hand_); }),
      ranges_(loop::real_ranges(flat_.nest)) {
  const bool is_inner = plan_.vector == NestPlan::Vector::kInner;
  std::vector<SymbolId> lanes;
  if (plan_.vector == NestPlan::Vector::kOuter) lanes.push_back(axis(plan_.axis).symbol);
  for (const loop::Sweep& sweep : flat_.nest.sweeps) {
    if (is_inner && !sweep.axes.empty()) lanes.push_back(axis(sweep.axes.back()).symbol);
  }
  by_lane_ = differing_instructions(graph_, flat_, lanes, is_inner);
  by_tile_ = plan_.tile_axis < 0
                 ? by_lane_
                 : differing_instructions(graph_, flat_, {axis(plan_.tile_axis).symbol}, false);
  if (plan_.tile_axis >= 0) {
    lanes.push_back(axis(plan_.tile_axis).symbol);
    by_square_ = differing_instructions(graph_, flat_, lanes, false);
  }
  if (plan_.repeat_axis >= 0)
    by_repeat_ = differing_instructions(graph_, flat_, {axis(plan_.repeat_axis).symbol}, false);
  inside_ = plan_.repeat_axis >= 0 ? by_repeat_ : by_lane_;
  values_.resize(flat_.nest.instructions.size());
  accumulators_.resize(flat_.nest.accumulators.size());
  choose_loops();
}

// Outer axes come in the order of the nest; the first ones that have enough points are split over
// the blocks.
void NestEmitter::choose_loops() {
  int64_t points = 1;
  for (const loop::AxisId id : flat_.outer) {
    if (id == plan_.axis || id == plan_.tile_axis || id == plan_.repeat_axis) continue;
    (points < kUnits ? block_axes_ : inner_axes_).push_back(id);
    points *= std::max<int64_t>(nominal_number(graph_, axis(id).extent), 1);
  }
  split_axis_ = plan_.tile_axis >= 0 ? plan_.tile_axis : plan_.axis;
  if (plan_.repeat_axis < 0) return;
  const int64_t grain = int64_t{plan_.lanes} * plan_.unroll;
  const int64_t pieces = (nominal_number(graph_, axis(plan_.axis).extent) + grain - 1) / grain;
  if (points * pieces < kUnits / 4) split_axis_ = plan_.repeat_axis;
}

void NestEmitter::emit(Value* block, Value* blocks) {
  Value *chunk = nullptr, *chunks = b_.index(1);
  Value* units = emit_units(chunk, chunks);
  const auto range = b_.partition(units, block, blocks);
  b_.loop(range.first, range.second, 1, [&](Value* unit) { emit_unit(unit, chunk, chunks); });
}

// Returns the number of units; chunks of the split axis have `chunk` points, a multiple of what is
// computed at once.
Value* NestEmitter::emit_units(Value*& chunk, Value*& chunks) {
  Value* points = b_.index(1);
  for (const loop::AxisId id : block_axes_) points = b_.mul(points, extent(id));
  if (split_axis_ < 0) return points;
  const int64_t grain = split_axis_ == plan_.repeat_axis ? 1
                        : split_axis_ == plan_.tile_axis ? plan_.lanes
                                                         : int64_t{plan_.lanes} * plan_.unroll;
  Value* grains = b_.ceil_div(extent(split_axis_), b_.index(grain));
  Value* wanted = b_.ceil_div(b_.index(kUnits), b_.max(points, b_.index(1)));
  Value* parts = b_.max(b_.min(wanted, grains), b_.index(1));
  chunk = b_.mul(b_.max(b_.ceil_div(grains, parts), b_.index(1)), grain);
  chunks = b_.ceil_div(extent(split_axis_), chunk);
  return b_.mul(points, chunks);
}

void NestEmitter::emit_unit(Value* unit, Value* chunk, Value* chunks) {
  Value *begin = nullptr, *end = nullptr;
  const auto* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(chunks);
  if (split_axis_ >= 0 && known != nullptr && known->isOne()) {
    begin = b_.index(0), end = extent(split_axis_);
  } else if (split_axis_ >= 0) {
    Value* number = b_.mod(unit, chunks);
    unit = b_.div(unit, chunks);
    begin = b_.mul(number, chunk);
    end = b_.min(b_.add(begin, chunk), extent(split_axis_));
  }
  for (size_t i = block_axes_.size(); i-- > 0;) {
    Value* size = extent(block_axes_[i]);
    index_.set_axis(axis(block_axes_[i]).symbol, i == 0 ? unit : b_.mod(unit, size));
    if (i > 0) unit = b_.div(unit, size);
  }
  emit_inner_axes(0, begin, end);
}

void NestEmitter::emit_inner_axes(size_t number, Value* begin, Value* end) {
  if (number < inner_axes_.size()) {
    const loop::AxisId id = inner_axes_[number];
    b_.loop(b_.index(0), extent(id), 1, [&](Value* i) {
      index_.set_axis(axis(id).symbol, i);
      emit_inner_axes(number + 1, begin, end);
    });
  } else if (plan_.tile_axis >= 0) {
    emit_tiles(begin, end);
  } else if (plan_.repeat_axis >= 0) {
    const bool is_split = split_axis_ == plan_.repeat_axis;
    Value* last = extent(is_split ? plan_.axis : plan_.repeat_axis);
    emit_lane_axis(is_split ? b_.index(0) : begin, is_split ? last : end, [&] {
      emit_repeated_point(is_split ? begin : b_.index(0), is_split ? end : last);
    });
  } else if (plan_.vector == NestPlan::Vector::kOuter) {
    emit_lane_axis(begin, end, [&] { emit_guarded_point(); });
  } else {
    piece_ = {1, 1};
    lane_symbol_ = copy_symbol_ = -1;
    emit_guarded_point();
  }
}

void NestEmitter::emit_lane_axis(Value* begin, Value* end, const std::function<void()>& point) {
  lane_symbol_ = copy_symbol_ = axis(plan_.axis).symbol;
  const auto pieces = [&] {
    Value* from = emit_until_aligned(begin, end, point);
    const auto piece = [&](const IrValues&) {
      point();
      return IrValues{};
    };
    emit_pieces(lane_symbol_, from, end, {}, piece, from == begin && is_cut_evenly());
  };
  if (plan_.repeat_axis >= 0 || !shares_by_lane()) return pieces();
  const auto with_shared = [&] {  // without points nothing is computed, not even faults
    piece_ = {1, 1};
    part_ = Part::kBefore;
    emit_instructions(0);
    part_ = Part::kInside;
    pieces();
    part_ = Part::kAll;
  };
  b_.if_else(b_.ir().CreateICmpSLT(begin, end), with_shared, [] {});
}

// Whether the lane axis, and each chunk of it, is a number of whole pieces.
bool NestEmitter::is_cut_evenly() const {
  const auto points = graph_.expressions.as_constant(axis(plan_.axis).extent);
  return points && *points % (int64_t{plan_.lanes} * plan_.unroll) == 0;
}

// Whether the lanes of a point share work, which is done once before their loop.
bool NestEmitter::shares_by_lane() const {
  const std::vector<loop::Sweep>& sweeps = flat_.nest.sweeps;
  if (sweeps.size() != 1 || !sweeps[0].axes.empty() || !flat_.nest.accumulators.empty())
    return false;
  return std::ranges::any_of(sweeps[0].instructions, [&](loop::InstructionId id) {
    return !inside_[static_cast<size_t>(id)] &&
           instruction(id).kind != loop::InstructionKind::kConstant;
  });
}

// Pieces for which all guards hold, and no limit of an offset takes effect, are computed without
// them; others, where those guards hold that are the same for all lanes, without those.
void NestEmitter::emit_guarded_point() {
  const std::vector<loop::Guard> guards = guards_of_nest();
  PlainOffsets plain = plain_offsets();
  const bool is_plain = guards.empty() && plain.non_negative.empty();
  if (is_plain || flat_.nest.instructions.size() > kMaxVersioned) return emit_point();
  std::vector<loop::Guard> uniform;
  for (const loop::Guard& guard : guards) {
    if (!differs(guard.value) && !differs(guard.limit)) uniform.push_back(guard);
  }
  const bool has_both = !uniform.empty() && uniform.size() < guards.size();
  Value *holds = all_hold(guards), *is_inside = none_is_negative(plain.non_negative);
  holds = holds == nullptr || is_inside == nullptr ? nullptr : b_.ir().CreateAnd(holds, is_inside);
  const auto emit_plain = [&] {
    std::swap(flat_.load_offsets, plain.offsets);
    emit_without(IgnoredGuards::kAll);
    std::swap(flat_.load_offsets, plain.offsets);
  };
  emit_version(holds, emit_plain, [&] {
    if (!has_both) return emit_point();
    emit_version(
        all_hold(uniform), [&] { emit_without(IgnoredGuards::kUniform); }, [&] { emit_point(); });
  });
}

void NestEmitter::emit_without(IgnoredGuards ignored) {
  ignored_guards_ = ignored;
  emit_point();
  ignored_guards_ = IgnoredGuards::kNone;
}

// Emits `version` for where the condition holds (null: that is not known), else `otherwise`.
void NestEmitter::emit_version(Value* condition, const std::function<void()>& version,
                               const std::function<void()>& otherwise) {
  if (condition == nullptr || is_false(condition)) return otherwise();
  b_.if_else(condition, version, otherwise);
}

// The offsets of all loads without the limits along the lanes.
NestEmitter::PlainOffsets NestEmitter::plain_offsets() {
  PlainOffsets all{flat_.load_offsets, {}};
  if (piece_.lanes == 1 || lane_symbol_ < 0 || piece_.is_tile || plan_.repeat_axis >= 0) return all;
  for (ExpressionId& offset : all.offsets) {
    if (offset < 0) continue;
    const auto plain = without_limits(graph_, offset, lane_symbol_);
    if (!plain) continue;
    offset = plain->offset;
    all.non_negative.insert(all.non_negative.end(), plain->non_negative.begin(),
                            plain->non_negative.end());
  }
  return all;
}

// A condition that is enough for the expressions to be 0 or more in all lanes and iterations of the
// piece at hand. Null: it is not known.
Value* NestEmitter::none_is_negative(const std::vector<ExpressionId>& expressions) {
  Value* condition = b_.ir().getInt1(true);
  for (const ExpressionId id : expressions) {
    const auto range = extremes(id);
    if (!range) return nullptr;
    condition = b_.ir().CreateAnd(condition, b_.ir().CreateICmpSGE(range->first, b_.index(0)));
  }
  return condition;
}

std::vector<loop::Guard> NestEmitter::guards_of_nest() const {
  std::vector<loop::Guard> guards;
  for (const loop::Instruction& own : flat_.nest.instructions)
    guards.insert(guards.end(), own.guards.begin(), own.guards.end());
  for (const loop::Sweep& sweep : flat_.nest.sweeps) {
    for (const loop::Store& store : sweep.stores)
      guards.insert(guards.end(), store.guards.begin(), store.guards.end());
  }
  std::sort(guards.begin(), guards.end());
  guards.erase(std::unique(guards.begin(), guards.end()), guards.end());
  return guards;
}

// A condition that is enough for the guards to hold in all lanes and iterations of the piece at
// hand. Null: it is not known.
Value* NestEmitter::all_hold(const std::vector<loop::Guard>& guards) {
  Value* condition = b_.ir().getInt1(true);
  for (const loop::Guard& guard : guards) {
    const auto value = extremes(guard.value), limit = extremes(guard.limit);
    if (!value || !limit) return nullptr;
    condition = b_.ir().CreateAnd(condition, b_.ir().CreateICmpSGE(value->first, b_.index(0)));
    condition = b_.ir().CreateAnd(condition, b_.ir().CreateICmpSLT(value->second, limit->first));
  }
  return condition;
}

// The least and the largest value of an expression over the piece at hand and all inner axes;
// nothing when it is not linear in them, or mentions loaded values.
std::optional<std::pair<Value*, Value*>> NestEmitter::extremes(ExpressionId id) {
  Value *low = b_.index(0), *high = b_.index(0);
  const auto add_span = [&](SymbolId symbol, Value* span) {
    if (!loop::mentions(graph_.expressions, id, symbol)) return true;
    const auto linear = loop::split_linear(graph_.expressions, id, symbol);
    const auto stride =
        linear ? graph_.expressions.as_constant(linear->stride) : std::optional<int64_t>();
    if (!stride) return false;
    (*stride > 0 ? high : low) = b_.add(*stride > 0 ? high : low, b_.mul(span, *stride));
    id = linear->remainder;
    return true;
  };
  // The lane axis, and that of a tile, count on from their present values.
  const auto add_counted = [&](SymbolId symbol, int64_t points) {
    const auto linear = loop::split_linear(graph_.expressions, id, symbol);
    const auto stride =
        linear ? graph_.expressions.as_constant(linear->stride) : std::optional<int64_t>();
    if (!stride) return false;
    Value*& end = *stride > 0 ? high : low;
    end = b_.add(end, b_.index(*stride * (points - 1)));
    return true;
  };
  const int64_t lanes = int64_t{piece_.lanes} * (piece_.is_tile ? 1 : piece_.copies);
  if ((lane_symbol_ >= 0 && !add_counted(lane_symbol_, lanes)) ||
      (piece_.is_tile && !add_counted(copy_symbol_, piece_.copies)))
    return std::nullopt;
  for (const loop::Sweep& sweep : flat_.nest.sweeps) {
    for (const loop::AxisId inner : sweep.axes) {
      if (!add_span(axis(inner).symbol, b_.sub(extent(inner), b_.index(1)))) return std::nullopt;
    }
  }
  if (expression_differs(graph_, id, {}, std::vector<bool>(flat_.nest.instructions.size(), true)))
    return std::nullopt;
  Value* present = index_.number(id);
  return std::pair(b_.add(present, low), b_.add(present, high));
}

// Whole squares of both axes first. What remains is computed in squares too, of which a part is
// there, or, without masks, row by row.
void NestEmitter::emit_tiles(Value* begin, Value* end) {
  const SymbolId tile = axis(plan_.tile_axis).symbol, lane = axis(plan_.axis).symbol;
  Value* whole = b_.add(begin, b_.mul(b_.div(b_.sub(end, begin), plan_.lanes), plan_.lanes));
  Value* last = extent(plan_.axis);
  Value* whole_lanes = b_.mul(b_.div(last, plan_.lanes), plan_.lanes);
  const auto squares = [&](Value* from, Value* to, bool is_part) {
    b_.loop(from, to, plan_.lanes, [&](Value* i) {
      index_.set_axis(tile, i);
      lane_symbol_ = lane, copy_symbol_ = tile;
      const auto square = [&](Value* k, bool is_whole) {
        index_.set_axis(lane, k);
        piece_ = {plan_.lanes, plan_.lanes};
        piece_.is_tile = true;
        if (!is_whole) set_part(b_.sub(last, k), b_.sub(to, i));
        emit_guarded_point();
      };
      b_.loop(b_.index(0), whole_lanes, plan_.lanes, [&](Value* k) { square(k, !is_part); });
      if (has_masks()) b_.loop(whole_lanes, last, plan_.lanes, [&](Value* k) { square(k, false); });
    });
  };
  squares(begin, whole, false);
  if (has_masks()) return squares(whole, end, true);
  const auto row = [&](Value* i, Value* from) {
    index_.set_axis(tile, i);
    plan_.unroll = 1;
    lane_symbol_ = copy_symbol_ = lane;
    emit_pieces(lane, from, last, {}, [&](const IrValues&) {
      emit_point();
      return IrValues{};
    });
    plan_.unroll = plan_.lanes;
  };
  b_.loop(begin, whole, 1, [&](Value* i) { row(i, whole_lanes); });
  b_.loop(whole, end, 1, [&](Value* i) { row(i, b_.index(0)); });
}

// Of the square at hand the first `rows` lanes and the first `columns` copies are there (at least
// one each; more than all: all).
void NestEmitter::set_part(Value* rows, Value* columns) {
  piece_.rows = rows;
  piece_.columns = b_.mask(columns, piece_.lanes);
  Value* lanes = b_.mask(rows, piece_.lanes);
  for (int copy = 0; copy < piece_.copies; ++copy) {
    piece_.is_there.push_back(b_.ir().CreateICmpSLT(b_.index(copy), columns));
    piece_.masks.push_back(
        b_.ir().CreateAnd(lanes, b_.broadcast(piece_.is_there.back(), piece_.lanes)));
  }
}

IrValues NestEmitter::emit_pieces(SymbolId symbol, Value* begin, Value* end, IrValues carried,
                                  const std::function<IrValues(const IrValues&)>& body,
                                  bool is_even) {
  const auto run = [&](Value* from, Value* to, int64_t step, Piece piece, bool is_masked) {
    carried = b_.loop(from, to, step, carried, [&](Value* i, const IrValues& now) {
      index_.set_axis(symbol, i);
      piece_ = piece;
      Value* last = b_.index(int64_t{piece.lanes} * (piece.copies - 1));
      if (is_masked) piece_.mask = b_.mask(b_.sub(b_.sub(to, i), last), piece.lanes);
      return body(now);
    });
    return to;
  };
  const int64_t lanes = plan_.lanes, at_once = lanes * plan_.unroll;
  const auto whole = [&](Value* from, int64_t step) {
    return b_.add(from, b_.mul(b_.div(b_.sub(end, from), step), step));
  };
  if (lanes == 1) {
    run(begin, end, 1, {1, 1}, false);
    return carried;
  }
  begin = run(begin, whole(begin, at_once), at_once, {plan_.lanes, plan_.unroll}, false);
  if (is_even) return carried;
  // A remainder of known length is one piece.
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(b_.sub(end, begin));
  if (has_masks() && known != nullptr) {
    const int64_t length = known->getSExtValue();
    const int copies = static_cast<int>((length + lanes - 1) / lanes);
    if (length > 0) run(begin, end, at_once, {plan_.lanes, copies}, length % lanes != 0);
    return carried;
  }
  if (!has_masks() && plan_.unroll > 1)  // masked words cost more than whole vectors
    begin = run(begin, whole(begin, lanes), lanes, {plan_.lanes, 1}, false);
  if (masks_remainders()) {
    run(begin, end, lanes, {plan_.lanes, 1}, true);
  } else {
    run(begin, end, 1, {1, 1}, false);
  }
  return carried;
}

// Whether the remainder of an axis is computed in vectors under a mask. Without masks for all
// types, that is where it is worth the instructions for masked words: all are words, and a vector
// takes long or is a part of a row.
bool NestEmitter::masks_remainders() const {
  if (has_masks()) return true;
  if (b_.profile().vector_bits < 256) return false;
  const loop::Nest& nest = flat_.nest;
  const auto is_word = [&](const loop::Access& access) {
    return dtype_bits(graph_.buffers[static_cast<size_t>(access.buffer)].dtype) >= 32;
  };
  bool is_long = nest.instructions.size() >= kSlowBody;
  for (const loop::Instruction& own : nest.instructions) {
    if (own.kind == loop::InstructionKind::kLoad && !is_word(own.access)) return false;
    is_long = is_long || (own.kind == loop::InstructionKind::kScalar &&
                          loop::scalar_row(own.op).cost == loop::CostClass::kTranscendental);
  }
  for (const loop::Sweep& sweep : nest.sweeps) {
    if (!std::ranges::all_of(sweep.stores, is_word, &loop::Store::access)) return false;
    is_long = is_long || !sweep.axes.empty();
  }
  return is_long;
}

void NestEmitter::emit_point() {
  for (size_t sweep = 0; sweep < flat_.nest.sweeps.size(); ++sweep) emit_sweep(sweep);
}

void NestEmitter::emit_sweep(size_t sweep) {
  if (plan_.vector == NestPlan::Vector::kInner) {
    const std::vector<loop::AxisId>& axes = flat_.nest.sweeps[sweep].axes;
    lane_symbol_ = copy_symbol_ = axes.empty() ? -1 : axis(axes.back()).symbol;
    piece_ = {1, 1};
  }
  finish_accumulators(sweep, emit_sweep_axes(sweep, 0, initial_values(sweep)));
}

IrValues NestEmitter::emit_sweep_axes(size_t sweep, size_t number, const IrValues& carried) {
  const std::vector<loop::AxisId>& axes = flat_.nest.sweeps[sweep].axes;
  if (number == axes.size()) return emit_iteration(sweep, carried);
  const loop::AxisId id = axes[number];
  if (plan_.vector == NestPlan::Vector::kInner && number + 1 == axes.size()) {
    IrValues after = emit_pieces(axis(id).symbol, b_.index(0), extent(id), carried,
                                 [&](const IrValues& now) { return emit_iteration(sweep, now); });
    piece_ = {1, 1};
    return after;
  }
  if (is_written_out(sweep, number)) {
    IrValues now = carried;
    for (int64_t i = 0; i < *graph_.expressions.as_constant(axis(id).extent); ++i) {
      index_.set_axis(axis(id).symbol, b_.index(i));
      now = emit_sweep_axes(sweep, number + 1, now);
    }
    return now;
  }
  return b_.loop(b_.index(0), extent(id), 1, carried, [&](Value* i, const IrValues& now) {
    index_.set_axis(axis(id).symbol, i);
    return emit_sweep_axes(sweep, number + 1, now);
  });
}

// Whether this axis of a sweep, and those inside, are written out.
bool NestEmitter::is_written_out(size_t sweep, size_t number) {
  const loop::Sweep& own = flat_.nest.sweeps[sweep];
  int64_t written = static_cast<int64_t>(own.instructions.size());
  for (; number < own.axes.size(); ++number) {
    const auto known = graph_.expressions.as_constant(axis(own.axes[number]).extent);
    if (!known || *known > kMaxWrittenOut) return false;
    written *= std::max<int64_t>(*known, 1);
    if (written > kMaxInstructionsWrittenOut) return false;
  }
  return true;
}

IrValues NestEmitter::emit_iteration(size_t sweep, const IrValues& carried) {
  read_carried(sweep, carried);
  emit_instructions(sweep);
  IrValues next = combined(sweep);
  emit_stores(sweep);
  return next;
}

}  // namespace sluice
