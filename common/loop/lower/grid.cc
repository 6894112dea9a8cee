// GridSample and AffineGrid. Places and weights are computed in f64, as in the evaluator.
#include <cmath>

#include "common/loop/lower/arithmetic.h"
#include "common/loop/lower/families.h"
#include "common/loop/lower/operands.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

struct GridOptions {
  std::string mode, padding;
  bool aligns;

  bool is_nearest() const { return mode == "nearest"; }
  bool is_cubic() const { return mode == "cubic"; }
  int64_t taps() const { return is_nearest() ? 1 : is_cubic() ? 4 : 2; }
};

GridOptions grid_options_of(const Node& node) {
  return {node.get(attributes::GridSample::mode), node.get(attributes::GridSample::padding_mode),
          node.get(attributes::GridSample::align_corners) != 0};
}

// ---- places

// Reflects x at both borders of the axis, as often as needed.
Id reflected(Lowering& l, const GridOptions& options, Id x, Id extent) {
  const Id low = real_f64(l, options.aligns ? 0 : -0.5), zero = real_f64(l, 0);
  const Id high = sub_f64(l, extent, real_f64(l, options.aligns ? 1 : 0.5)),
           range = sub_f64(l, high, low);
  const Id is_below = less(l, x, low);
  const Id distance = folded_select(l, is_below, sub_f64(l, low, x), sub_f64(l, x, high));
  const Id turns = floor(l, div_f64(l, distance, range));
  const Id remainder = sub_f64(l, distance, mul_f64(l, turns, range));
  const Id half = floor(l, mul_f64(l, turns, real_f64(l, 0.5)));
  const Id is_odd = less(l, mul_f64(l, half, real_f64(l, 2)), turns);
  const Id from_low = logical(l, ScalarOp::kXor, is_below, is_odd);
  const Id inside =
      folded_select(l, from_low, add_f64(l, low, remainder), sub_f64(l, high, remainder));
  const Id place = folded_select(l, less_or_equal(l, distance, zero), x, inside);
  return folded_select(l, less_or_equal(l, range, zero), low, place);
}

// The place in the input of a coordinate in [-1, 1].
Id grid_place(Lowering& l, const GridOptions& options, Id coordinate, Id extent) {
  const Id one = real_f64(l, 1), last = sub_f64(l, extent, one),
           moved = add_f64(l, coordinate, one);
  Id x = options.aligns ? mul_f64(l, div_f64(l, moved, real_f64(l, 2)), last)
                        : div_f64(l, sub_f64(l, mul_f64(l, moved, extent), one), real_f64(l, 2));
  const Id is_near = less_or_equal(l, absolute(l, x), real_f64(l, 1e15));  // and no NaN
  x = folded_select(l, is_near, x, real_f64(l, -1e15));
  if (options.is_nearest()) x = l.scalar(ScalarOp::kRound, x);
  if (options.padding == "border" && !options.is_cubic()) x = clamp_f64(l, x, real_f64(l, 0), last);
  return options.padding == "reflection" ? reflected(l, options, x, extent) : x;
}

// ---- taps

struct GridTap {
  ExpressionId index;
  Id weight = -1;  // nothing: 1
  Id inside = -1;  // the element counts only where this holds; nothing: always
};

GridTap make_tap(Lowering& l, const GridOptions& options, Id at, ExpressionId extent) {
  const Id length = from_size(l, extent);
  const Id inside =
      logical(l, ScalarOp::kAnd, less_or_equal(l, real_f64(l, 0), at), less(l, at, length));
  GridTap tap{-1};
  if (options.padding == "zeros") tap.inside = inside;
  if (options.padding == "reflection")
    at = folded_select(l, inside, at, reflected(l, options, at, length));
  tap.index = index_of(l, at, extent);
  return tap;
}

std::vector<GridTap> make_grid_taps(Lowering& l, const GridOptions& options, Id coordinate,
                                    ExpressionId extent) {
  const Id x = grid_place(l, options, coordinate, from_size(l, extent));
  if (options.is_nearest()) return {make_tap(l, options, l.scalar(ScalarOp::kRound, x), extent)};
  const Id whole = floor(l, x);
  std::vector<GridTap> taps;
  for (int64_t i = 0; i < options.taps(); ++i) {
    const auto step = static_cast<double>(i - (options.is_cubic() ? 1 : 0));
    const Id at = add_f64(l, whole, real_f64(l, step)), distance = sub_f64(l, x, at);
    taps.push_back(make_tap(l, options, at, extent));
    taps.back().weight = options.is_cubic() ? cubic_weight(l, distance, -0.75)
                                            : sub_f64(l, real_f64(l, 1), absolute(l, distance));
  }
  return taps;
}

// Sums over the taps of each spatial axis, the first one outermost.
Result<Id> sampled(Lowering& l, const Value& x, const std::vector<std::vector<GridTap>>& taps,
                   Index& place, const std::vector<Guard>& guards) {
  const size_t axis = place.size() - 2;
  if (axis == taps.size()) {
    SLUICE_ASSIGN(const Id element, l.element_if(x, place, guards));
    return l.cast(element, DType::kF64);
  }
  Id sum = real_f64(l, 0);
  for (const GridTap& tap : taps[axis]) {
    place.push_back(tap.index);
    SLUICE_ASSIGN(Id term, sampled(l, x, taps, place, guards));
    place.pop_back();
    if (tap.weight >= 0) term = mul_f64(l, tap.weight, term);
    const Id next = l.scalar(ScalarOp::kAdd, sum, term);
    sum = tap.inside < 0 ? next : folded_select(l, tap.inside, next, sum);
  }
  return sum;
}

// y[n, c, point] = a sample of x[n, c] at grid[n, point], whose coordinates are those of the last
// axis first.
Result<Id> grid_sample(Lowering& l, const Node& node, size_t, const Index& index) {
  const Value &x = *node.input(0), &grid = *node.input(1);
  const GridOptions options = grid_options_of(node);
  const size_t spatial = x.type().dims.size() - 2;
  Index point = {index[0]};
  point.insert(point.end(), index.begin() + 2, index.end());
  const Index batches = {l.extent(node.output(), 0)};
  const std::vector<Guard> in_grid = within(l, grid, {index[0]}, batches);
  std::vector<Guard> guards = within(l, x, {index[0]}, batches);
  std::vector<std::vector<GridTap>> taps;
  point.push_back(-1);
  for (size_t axis = 0; axis < spatial; ++axis) {
    point.back() = l.number(static_cast<int64_t>(spatial - 1 - axis));
    SLUICE_ASSIGN(const Id coordinate, l.element_if(grid, point, in_grid));
    const ExpressionId extent = l.extent(x, axis + 2);
    taps.push_back(make_grid_taps(l, options, l.cast(coordinate, DType::kF64), extent));
    guards.push_back(l.not_empty(extent));
  }
  Index place = {index[0], index[1]};
  SLUICE_ASSIGN(const Id sum, sampled(l, x, taps, place, guards));
  return l.cast(sum, register_dtype(x.type().dtype));
}

std::string grid_sample_reason(const Node& node) {
  int64_t taps = 1;
  for (size_t axis = 2; axis < node.input(0)->type().dims.size() && taps <= kMaxSampleTaps; ++axis)
    taps *= grid_options_of(node).taps();
  if (taps > kMaxSampleTaps)
    return fmt::format("an element is made from more than {}", kMaxSampleTaps);
  return needs_floats(node);
}

// ---- AffineGrid

// The coordinate of place i along an axis, in [-1, 1].
Id base_coordinate(Lowering& l, bool aligns, ExpressionId i, ExpressionId extent) {
  const Id one = real_f64(l, 1), length = from_size(l, extent);
  const Id twice = mul_f64(l, real_f64(l, 2), from_size(l, i));
  if (!aligns) return sub_f64(l, div_f64(l, add_f64(l, twice, one), length), one);
  const Id spread = sub_f64(l, div_f64(l, twice, sub_f64(l, length, one)), one);
  return folded_select(l, less(l, one, length), spread, real_f64(l, -1));
}

// y[n, place, k] = sum over j of theta[n, k, j] * (x, y, …, 1)[j]
Result<Id> affine_grid(Lowering& l, const Node& node, size_t, const Index& index) {
  const Value &theta = *node.input(0), &y = node.output();
  const bool aligns = node.get(attributes::AffineGrid::align_corners) != 0;
  const size_t rank = index.size() - 2;
  const std::vector<Guard> guards = within(l, theta, {index[0]}, {l.extent(y, 0)});
  Id sum = real_f64(l, 0);
  for (size_t j = 0; j <= rank; ++j) {
    const size_t axis = rank - j;  // of y; for j = rank there is none
    const Id at =
        j == rank ? real_f64(l, 1) : base_coordinate(l, aligns, index[axis], l.extent(y, axis));
    const Index place = {index[0], index.back(), l.number(static_cast<int64_t>(j))};
    SLUICE_ASSIGN(const Id factor, l.element_if(theta, place, guards));
    sum = l.scalar(ScalarOp::kAdd, sum, mul_f64(l, l.cast(factor, DType::kF64), at));
  }
  return l.cast(sum, register_dtype(theta.type().dtype));
}

std::string affine_grid_reason(const Node& node) {
  const std::vector<Dim>& theta = node.input(0)->type().dims;
  const auto rank = static_cast<int64_t>(node.output().type().dims.size()) - 2;
  const bool fits =
      theta.size() == 3 && theta[1] == Dim::fixed(rank) && theta[2] == Dim::fixed(rank + 1);
  return fits ? needs_floats(node) : "theta has other dims than the grid asks for";
}

constexpr LoweringRow kGridRows[] = {
    {Op::kGridSample, grid_sample_reason, grid_sample},
    {Op::kAffineGrid, affine_grid_reason, affine_grid},
};

}  // namespace

std::span<const LoweringRow> grid_rows() { return kGridRows; }

}  // namespace sluice::loop
