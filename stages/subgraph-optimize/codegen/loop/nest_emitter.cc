#include "stages/subgraph-optimize/codegen/loop/nest_emitter.h"

#include <algorithm>

#include "stages/subgraph-optimize/codegen/loop/piece_loops.h"

namespace sluice {

using llvm::Value;

namespace {

// Enough parts for any number of threads, and for some to take longer than others.
constexpr int64_t kUnits = 64;

}  // namespace

NestEmitter::NestEmitter(PlannedNest nest, const BufferAddresses& buffers, MathPrecision precision)
    : nest_(std::move(nest)),
      b_(nest_.builder),
      values_(nest_),
      guards_(nest_, values_),
      memory_(nest_, values_, buffers, precision),
      shared_(nest_, values_, guards_, memory_),
      loads_(nest_, values_, guards_, memory_, shared_),
      tiles_(nest_, values_, guards_, memory_),
      stores_(nest_, values_, guards_, memory_),
      accumulators_(nest_, values_, precision),
      instructions_(nest_, values_, guards_, loads_, tiles_, accumulators_, precision),
      sweeps_(nest_, values_, accumulators_, instructions_, stores_),
      versions_(nest_, values_, guards_, loads_, sweeps_),
      tile_loops_(nest_, values_, sweeps_, versions_) {
  choose_loops();
}

// Outer axes come in the order of the nest; the first ones that have enough points are split over
// the blocks.
void NestEmitter::choose_loops() {
  const NestPlan& plan = nest_.plan;
  int64_t points = 1;
  for (const loop::AxisId id : nest_.flat.outer) {
    if (id == plan.axis || id == plan.tile_axis || id == plan.repeat_axis) continue;
    (points < kUnits ? block_axes_ : inner_axes_).push_back(id);
    points *= std::max<int64_t>(nominal_number(nest_.graph, nest_.axis(id).extent), 1);
  }
  split_axis_ = plan.tile_axis >= 0 ? plan.tile_axis : plan.axis;
  if (plan.repeat_axis < 0) return;
  const int64_t grain = int64_t{plan.lanes} * plan.unroll;
  const int64_t length = nominal_number(nest_.graph, nest_.axis(plan.axis).extent);
  if (points * ((length + grain - 1) / grain) < kUnits / 4) split_axis_ = plan.repeat_axis;
}

void NestEmitter::emit(Value* block, Value* blocks) {
  const Units units = emit_units();
  const auto range = b_.partition(units.count, block, blocks);
  b_.loop(range.first, range.second, 1, [&](Value* unit) { emit_unit(unit, units); });
}

// The points of the split axis that are computed at once.
int64_t NestEmitter::split_grain() const {
  if (split_axis_ == nest_.plan.repeat_axis) return 1;
  const int64_t lanes = nest_.plan.lanes;
  return split_axis_ == nest_.plan.tile_axis ? lanes : lanes * nest_.plan.unroll;
}

// Chunks of the split axis are multiples of what is computed at once.
NestEmitter::Units NestEmitter::emit_units() {
  Units units;
  units.chunks = b_.index(1);
  Value* points = b_.index(1);
  for (const loop::AxisId id : block_axes_) points = b_.mul(points, values_.extent(id));
  units.count = points;
  if (split_axis_ < 0) return units;
  const int64_t grain = split_grain();
  Value* grains = b_.ceil_div(values_.extent(split_axis_), b_.index(grain));
  Value* wanted = b_.ceil_div(b_.index(kUnits), b_.max(points, b_.index(1)));
  Value* parts = b_.max(b_.min(wanted, grains), b_.index(1));
  units.chunk = b_.mul(b_.max(b_.ceil_div(grains, parts), b_.index(1)), grain);
  units.chunks = b_.ceil_div(values_.extent(split_axis_), units.chunk);
  units.count = b_.mul(points, units.chunks);
  return units;
}

void NestEmitter::emit_unit(Value* unit, const Units& units) {
  Points split;
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(units.chunks);
  if (split_axis_ >= 0 && known != nullptr && known->isOne()) {
    split = all_points(split_axis_);
  } else if (split_axis_ >= 0) {
    Value* number = b_.mod(unit, units.chunks);
    unit = b_.div(unit, units.chunks);
    split.begin = b_.mul(number, units.chunk);
    split.end = b_.min(b_.add(split.begin, units.chunk), values_.extent(split_axis_));
  }
  for (size_t i = block_axes_.size(); i-- > 0;) {
    Value* size = values_.extent(block_axes_[i]);
    values_.set_axis(symbol(block_axes_[i]), i == 0 ? unit : b_.mod(unit, size));
    if (i > 0) unit = b_.div(unit, size);
  }
  emit_inner_axes(0, split);
}

void NestEmitter::emit_inner_axes(size_t number, const Points& split) {
  if (number < inner_axes_.size()) {
    const loop::AxisId id = inner_axes_[number];
    b_.loop(b_.index(0), values_.extent(id), 1, [&](Value* i) {
      values_.set_axis(symbol(id), i);
      emit_inner_axes(number + 1, split);
    });
  } else if (nest_.plan.tile_axis >= 0) {
    tile_loops_.emit(split.begin, split.end);
  } else if (nest_.plan.repeat_axis >= 0) {
    emit_repeated(split);
  } else if (nest_.plan.vector == NestPlan::Vector::kOuter) {
    emit_lane_axis(split);
  } else {
    values_.set_piece({});
    versions_.emit();
  }
}

// ---- the lane axis

void NestEmitter::emit_lane_axis(const Points& points) {
  const auto emit_all = [&] { emit_lane_pieces(points, [&] { versions_.emit(); }); };
  if (!shares_by_lane()) return emit_all();
  const auto with_shared = [&] {  // without points nothing is computed, not even faults
    values_.set_piece(lane_piece(1, 1));
    instructions_.set_part(InstructionEmitter::Part::kBefore);
    instructions_.emit(0);
    instructions_.set_part(InstructionEmitter::Part::kInside);
    emit_all();
    instructions_.set_part(InstructionEmitter::Part::kAll);
  };
  b_.if_else(b_.ir().CreateICmpSLT(points.begin, points.end), with_shared, [] {});
}

void NestEmitter::emit_lane_pieces(const Points& points, const std::function<void()>& point) {
  Value* from = emit_until_aligned(points, point);
  const PieceRange range = {.symbol = symbol(nest_.plan.axis),
                            .begin = from,
                            .end = points.end,
                            .unroll = nest_.plan.unroll,
                            .is_even = from == points.begin && is_cut_evenly()};
  emit_pieces(nest_, values_, range, point);
}

// Computes the points before the first one whose element has the alignment of vectors. Returns that
// one.
Value* NestEmitter::emit_until_aligned(const Points& points, const std::function<void()>& point) {
  const NestPlan& plan = nest_.plan;
  values_.set_piece(lane_piece(plan.lanes, plan.unroll));
  if (!stores_.is_worth_aligning()) return points.begin;
  values_.set_axis(symbol(plan.axis), points.begin);
  Value* aligned = stores_.first_aligned(points.begin, points.end);
  const int lanes = masks_remainders(nest_) ? plan.lanes : 1;
  b_.loop(points.begin, aligned, lanes, [&](Value* i) {
    values_.set_axis(symbol(plan.axis), i);
    Piece piece = lane_piece(lanes, 1);
    if (lanes > 1) piece.mask = b_.mask(b_.sub(aligned, i), lanes);
    values_.set_piece(std::move(piece));
    point();
  });
  return aligned;
}

// Whether the lane axis, and each chunk of it, is a number of whole pieces.
bool NestEmitter::is_cut_evenly() const {
  const auto points = nest_.graph.expressions.as_constant(nest_.axis(nest_.plan.axis).extent);
  return points && *points % (int64_t{nest_.plan.lanes} * nest_.plan.unroll) == 0;
}

// Whether the lanes of a point share work, which is done once before their loop.
bool NestEmitter::shares_by_lane() const {
  const loop::Nest& nest = nest_.flat.nest;
  return nest.sweeps.size() == 1 && nest.sweeps[0].axes.empty() && nest.accumulators.empty() &&
         instructions_.has_part_before(0);
}

// ---- the repeat axis

void NestEmitter::emit_repeated(const Points& split) {
  const bool is_split = split_axis_ == nest_.plan.repeat_axis;
  const Points whole = all_points(is_split ? nest_.plan.axis : nest_.plan.repeat_axis);
  const Points& repeated = is_split ? split : whole;
  emit_lane_pieces(is_split ? whole : split, [&] {
    // Without points nothing is computed, not even faults.
    b_.if_else(
        b_.ir().CreateICmpSLT(repeated.begin, repeated.end),
        [&] { emit_repeated_points(repeated); }, [] {});
  });
}

void NestEmitter::emit_repeated_points(const Points& points) {
  instructions_.set_part(InstructionEmitter::Part::kBefore);
  instructions_.emit(0);
  Value* fits = shared_.prepare();
  instructions_.set_part(InstructionEmitter::Part::kInside);
  if (fits == nullptr) {
    emit_repeated_loop(points, false);
  } else {
    b_.if_else(
        fits, [&] { emit_repeated_loop(points, true); },
        [&] { emit_repeated_loop(points, false); });
  }
  instructions_.set_part(InstructionEmitter::Part::kAll);
  shared_.clear();
}

void NestEmitter::emit_repeated_loop(const Points& points, bool uses_windows) {
  shared_.use_windows(uses_windows);
  b_.loop(points.begin, points.end, 1, [&](Value* i) {
    values_.set_axis(symbol(nest_.plan.repeat_axis), i);
    instructions_.emit(0);
    stores_.emit(0);
  });
  shared_.use_windows(false);
}

}  // namespace sluice
