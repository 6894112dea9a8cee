// Reductions over axes, ArgMax, ArgMin:
//
//   for kept axes: for reduced axes: a = combine(a, term(x)); y = last(a)
#include <limits>

#include "common/loop/lower/families.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

using Id = InstructionId;

// The axes that are reduced, where they are known.
std::optional<std::vector<bool>> reduced_axes(const Node& node) {
  const size_t rank = node.input(0)->type().dims.size();
  if (node.op() == Op::kArgMax || node.op() == Op::kArgMin) {
    std::vector<bool> reduced(rank, false);
    reduced[Lowering::axis_of(node.get(attributes::ArgMax::axis), rank)] = true;
    return reduced;
  }
  const bool noop = node.get(attributes::Reduce::noop_with_empty_axes) != 0;
  if (node.input(1) == nullptr) return std::vector<bool>(rank, !noop);
  const auto axes = Lowering::integers(node, 1);
  if (!axes) return std::nullopt;
  std::vector<bool> reduced(rank, axes->empty() && !noop);
  for (const int64_t axis : *axes) reduced[Lowering::axis_of(axis, rank)] = true;
  return reduced;
}

struct Space {
  Index index;  // of x
  Index kept;   // of y
  Index inner;  // extents of the reduced axes
  std::vector<size_t> axes;
};

// Starts the nest; the reduced entries of `index` are set by begin_inner.
Space begin(Lowering& l, const Node& node) {
  const std::vector<bool> reduced = *reduced_axes(node);
  const bool keep = node.output().type().dims.size() == reduced.size();
  const Index extents = l.extents(*node.input(0));
  Index outer = extents;
  for (size_t i = 0; i < reduced.size(); ++i)
    if (reduced[i]) outer[i] = l.number(1);
  Space space;
  space.index = l.begin_nest(outer);
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i] || keep) space.kept.push_back(reduced[i] ? l.number(0) : space.index[i]);
    if (!reduced[i]) continue;
    space.axes.push_back(i);
    space.inner.push_back(extents[i]);
  }
  return space;
}

void begin_inner(Lowering& l, Space& space) {
  const Index inner = l.begin_sweep(space.inner);
  for (size_t i = 0; i < inner.size(); ++i) space.index[space.axes[i]] = inner[i];
}

double lowest(DType dtype) {
  return dtype_is_float(dtype) ? -std::numeric_limits<double>::infinity() : 0;
}

// The neutral element of max (sign 1) or min (sign -1).
Id extreme(Lowering& l, DType dtype, int sign) {
  if (dtype == DType::kF32 || dtype == DType::kF64) return l.real(dtype, sign * lowest(dtype));
  const int bits = dtype == DType::kBool ? 1 : dtype_bits(dtype);
  if (!dtype_is_signed(dtype)) return l.integer(dtype, sign > 0 ? 0 : -1);
  const int64_t low = -(int64_t{1} << (bits - 2)) * 2;
  return l.integer(dtype, sign > 0 ? low : -(low + 1));
}

Id square(Lowering& l, Id x) { return l.scalar(ScalarOp::kMul, x, x); }
Id magnitude(Lowering& l, Id x) { return l.scalar(ScalarOp::kAbs, x); }
Id same(Lowering&, Id x) { return x; }
Id root(Lowering& l, Id x) { return l.scalar(ScalarOp::kSqrt, x); }
Id logarithm(Lowering& l, Id x) { return l.scalar(ScalarOp::kLog, x); }

template <Combine combine, Id (*term)(Lowering& l, Id x) = same,
          Id (*last)(Lowering& l, Id x) = same>
Result<void> reduce(Lowering& l, const Node& node) {
  Space space = begin(l, node);
  begin_inner(l, space);
  SLUICE_ASSIGN(const Id x, l.element(*node.input(0), space.index));
  const DType dtype = l.dtype_of(x);
  const Id initial = combine == Combine::kMax   ? extreme(l, dtype, 1)
                     : combine == Combine::kMin ? extreme(l, dtype, -1)
                                                : l.real(dtype, combine == Combine::kProduct);
  const AccumulatorId total = l.accumulate(combine, initial, term(l, x));
  l.begin_sweep({});
  return l.give(node, 0, space.kept, last(l, l.value_of(total)));
}

Result<void> mean(Lowering& l, const Node& node) {
  Space space = begin(l, node);
  begin_inner(l, space);
  SLUICE_ASSIGN(const Id x, l.element(*node.input(0), space.index));
  const DType dtype = l.dtype_of(x);
  const AccumulatorId total = l.accumulate(Combine::kSum, l.real(dtype, 0), x);
  l.begin_sweep({});
  const Id count = l.cast(l.index_value(l.product(space.inner)), dtype);
  return l.give(node, 0, space.kept, l.scalar(ScalarOp::kDiv, l.value_of(total), count));
}

// log(sum(exp(x - a))) + a with a = max(x), or 0 where that is infinite.
Result<void> log_sum_exp(Lowering& l, const Node& node) {
  Space space = begin(l, node);
  begin_inner(l, space);
  SLUICE_ASSIGN(const Id x, l.element(*node.input(0), space.index));
  const DType dtype = l.dtype_of(x);
  const AccumulatorId largest = l.accumulate(Combine::kMax, extreme(l, dtype, 1), x);
  l.begin_sweep({});
  const Id zero = l.real(dtype, 0), found = l.value_of(largest);
  const Id is_finite = l.scalar(ScalarOp::kLess, l.scalar(ScalarOp::kAbs, found),
                                l.real(dtype, std::numeric_limits<double>::infinity()));
  const Id shift = l.scalar(ScalarOp::kSelect, is_finite, found, zero);
  begin_inner(l, space);
  SLUICE_ASSIGN(const Id again, l.element(*node.input(0), space.index));
  const AccumulatorId total =
      l.accumulate(Combine::kSum, l.real(dtype, 0),
                   l.scalar(ScalarOp::kExp, l.scalar(ScalarOp::kSub, again, shift)));
  l.begin_sweep({});
  const Id sum = l.scalar(ScalarOp::kLog, l.value_of(total));
  return l.give(node, 0, space.kept, l.scalar(ScalarOp::kAdd, sum, shift));
}

template <Combine combine>
Result<void> arg_best(Lowering& l, const Node& node) {
  Space space = begin(l, node);
  begin_inner(l, space);
  SLUICE_ASSIGN(const Id x, l.element(*node.input(0), space.index));
  const bool is_last = node.get(attributes::ArgMax::select_last_index) != 0;
  const Id position = l.index_value(space.index[space.axes[0]]);
  const AccumulatorId best =
      l.accumulate(combine, extreme(l, l.dtype_of(x), combine == Combine::kArgMax ? 1 : -1), x,
                   position, is_last);
  l.begin_sweep({});
  Id found = l.position_of(best);
  if (l.table().bounds(space.inner[0]).low < 1)  // an axis without elements is a fault
    found = l.scalar(ScalarOp::kCheckIndex, found, l.index_value(space.inner[0]));
  return l.give(node, 0, space.kept, found);
}

std::string reduce_reason(const Node& node) {
  if (!reduced_axes(node)) return "the axes are known only while running";
  return node.input(0)->type().dtype == DType::kBool ? "dtype bool, only numbers" : std::string();
}

std::string float_reason(const Node& node) {
  std::string reason = needs_floats(node);
  return reason.empty() ? reduce_reason(node) : reason;
}

constexpr LoweringRow kRows[] = {
    {Op::kReduceSum, reduce_reason, nullptr, reduce<Combine::kSum>},
    {Op::kReduceProd, reduce_reason, nullptr, reduce<Combine::kProduct>},
    {Op::kReduceMax, reduce_reason, nullptr, reduce<Combine::kMax>},
    {Op::kReduceMin, reduce_reason, nullptr, reduce<Combine::kMin>},
    {Op::kReduceL1, reduce_reason, nullptr, reduce<Combine::kSum, magnitude>},
    {Op::kReduceL2, float_reason, nullptr, reduce<Combine::kSum, square, root>},
    {Op::kReduceSumSquare, reduce_reason, nullptr, reduce<Combine::kSum, square>},
    {Op::kReduceLogSum, float_reason, nullptr, reduce<Combine::kSum, same, logarithm>},
    {Op::kReduceMean, float_reason, nullptr, mean},
    {Op::kReduceLogSumExp, float_reason, nullptr, log_sum_exp},
    {Op::kArgMax, reduce_reason, nullptr, arg_best<Combine::kArgMax>},
    {Op::kArgMin, reduce_reason, nullptr, arg_best<Combine::kArgMin>},
};

}  // namespace

std::span<const LoweringRow> reduction_rows() { return kRows; }

}  // namespace sluice::loop
