// Reductions over axes, ArgMax, ArgMin:
//
//   for kept axes: for reduced axes: a = combine(a, term(x)); y = finish(a)
//
// Several sums, products and extremes of the same elements are accumulated in one sweep.
#include <algorithm>

#include "common/loop/lower/families.h"
#include "common/loop/lower/reasons.h"
#include "common/loop/lower/reduced_axes.h"
#include "common/loop/lower/scalars.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

Id magnitude(Lowering& l, Id x) { return l.scalar(ScalarOp::kAbs, x); }
Id same(Lowering&, Id x) { return x; }
Id root(Lowering& l, Id x) { return l.scalar(ScalarOp::kSqrt, x); }
Id logarithm(Lowering& l, Id x) { return l.scalar(ScalarOp::kLog, x); }

bool is_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

// Sums, products and extremes; integers are modulo 2^bits.
struct Reduction {
  Op op;
  Combine combine;
  Id (*term)(Lowering& l, Id x) = same;
};
constexpr Reduction kReductions[] = {
    {Op::kReduceSum, Combine::kSum},           {Op::kReduceProd, Combine::kProduct},
    {Op::kReduceMax, Combine::kMax},           {Op::kReduceMin, Combine::kMin},
    {Op::kReduceL1, Combine::kSum, magnitude}, {Op::kReduceSumSquare, Combine::kSum, square},
};

const Reduction* find_reduction(const Node& node) {
  const auto* found = std::ranges::find(kReductions, node.op(), &Reduction::op);
  return found == std::end(kReductions) ? nullptr : found;
}

// The node, or, in a body, all that are computed with it.
std::vector<const Node*> reductions_with(const Node& node) {
  std::vector<const Node*> found = {&node};
  if (node.graph().role != GraphRole::kFused) return found;
  for (const Node& other : node.graph().nodes())
    if (&other != &node && shares_sweep(node, other)) found.push_back(&other);
  return found;
}

AccumulatorId accumulate(Lowering& l, const Reduction& reduction, Id x) {
  const DType dtype = l.dtype_of(x);
  const Combine combine = reduction.combine;
  const Id initial = combine == Combine::kMax   ? lowest(l, dtype)
                     : combine == Combine::kMin ? highest(l, dtype)
                                                : l.integer(dtype, combine == Combine::kProduct);
  return l.accumulate(combine, initial, reduction.term(l, x));
}

// Extremes of bools are those of 0 and 1.
Result<void> reduce(Lowering& l, const Node& node) {
  SLUICE_ASSIGN(ReducedRow row, ReducedRow::begin_nest(l, node, 1));
  SLUICE_ASSIGN(const Id x, row.begin_sweep());
  const DType own = l.dtype_of(x);
  const Id number = l.cast(x, own == DType::kBool ? DType::kU8 : own);
  const std::vector<const Node*> reductions = reductions_with(node);
  std::vector<AccumulatorId> totals;
  for (const Node* reduction : reductions)
    totals.push_back(accumulate(l, *find_reduction(*reduction), number));
  l.begin_sweep({});
  for (size_t i = 0; i < reductions.size(); ++i)
    SLUICE_TRY(l.give(*reductions[i], 0, row.kept(), l.cast(l.value_of(totals[i]), own)));
  return {};
}

using Finish = Id (*)(Lowering& l, Id sum, Id count);
Id root_of(Lowering& l, Id sum, Id) { return root(l, sum); }
Id logarithm_of(Lowering& l, Id sum, Id) { return logarithm(l, sum); }

// The sum of integers is one of 64 bits, from which a float64 follows, which is truncated; where
// that is the sum itself, the sum's low bits count, as in the evaluator.
Id finish_integers(Lowering& l, Id sum, ExpressionId count, Finish finish, DType dtype) {
  const Id whole = l.cast(sum, DType::kF64);
  const Id finished = finish(l, whole, number_of(l, DType::kF64, count));
  const Id is_sum = l.scalar(ScalarOp::kEqual, finished, whole);
  return l.cast(select(l, is_sum, sum, l.cast(finished, DType::kI64)), dtype);
}

// finish(the sum of term(x), the number of elements).
template <Finish finish, Id (*term)(Lowering& l, Id x) = same>
Result<void> reduce_sum(Lowering& l, const Node& node) {
  SLUICE_ASSIGN(ReducedRow row, ReducedRow::begin_nest(l, node, 1));
  SLUICE_ASSIGN(const Id x, row.begin_sweep());
  const DType dtype = l.dtype_of(x), wide = is_float(dtype) ? dtype : DType::kI64;
  const AccumulatorId total =
      l.accumulate(Combine::kSum, l.integer(wide, 0), term(l, l.cast(x, wide)));
  l.begin_sweep({});
  const Id sum = l.value_of(total);
  const ExpressionId count = row.count();
  return l.give(node, 0, row.kept(),
                is_float(dtype) ? finish(l, sum, number_of(l, dtype, count))
                                : finish_integers(l, sum, count, finish, dtype));
}

// Integers are computed as float64, and are 0 when the result lies outside 64 bits.
Id truncated(Lowering& l, Id y, DType dtype) {
  if (is_float(dtype)) return y;
  const Id is_inside =
      l.scalar(ScalarOp::kLess, l.scalar(ScalarOp::kAbs, y), l.real(DType::kF64, 0x1p63));
  return l.cast(select(l, is_inside, l.cast(y, DType::kI64), l.integer(DType::kI64, 0)), dtype);
}

// log(sum(exp(x - a))) + a with a = max(x), or 0 where that is infinite.
Result<void> log_sum_exp(Lowering& l, const Node& node) {
  SLUICE_ASSIGN(ReducedRow row, ReducedRow::begin_nest(l, node, 2));
  SLUICE_ASSIGN(const Id x, row.begin_sweep());
  const DType dtype = l.dtype_of(x), real = is_float(dtype) ? dtype : DType::kF64;
  const AccumulatorId largest = l.accumulate(Combine::kMax, lowest(l, real), l.cast(x, real));
  l.begin_sweep({});
  const Id zero = l.real(real, 0), found = l.value_of(largest);
  const Id is_finite = l.scalar(ScalarOp::kLess, l.scalar(ScalarOp::kAbs, found), highest(l, real));
  const Id shift = select(l, is_finite, found, zero);
  SLUICE_ASSIGN(const Id again, row.begin_sweep());
  const AccumulatorId total = l.accumulate(
      Combine::kSum, zero, l.scalar(ScalarOp::kExp, sub(l, l.cast(again, real), shift)));
  l.begin_sweep({});
  const Id sum = logarithm(l, l.value_of(total));
  return l.give(node, 0, row.kept(), truncated(l, add(l, sum, shift), dtype));
}

template <Combine combine>
Result<void> arg_best(Lowering& l, const Node& node) {
  SLUICE_ASSIGN(ReducedRow row, ReducedRow::begin_nest(l, node, 1));
  SLUICE_ASSIGN(const Id x, row.begin_sweep());
  const bool is_last = node.get(attributes::ArgMax::select_last_index) != 0;
  const DType dtype = l.dtype_of(x);
  const Id initial = combine == Combine::kArgMax ? lowest(l, dtype) : highest(l, dtype);
  const AccumulatorId best =
      l.accumulate(combine, initial, x, l.index_value(row.position()), is_last);
  l.begin_sweep({});
  Id found = l.position_of(best);
  if (l.table().bounds(row.count()).low < 1)  // an axis without elements is a fault
    found = l.scalar(ScalarOp::kCheckIndex, found, l.index_value(row.count()));
  return l.give(node, 0, row.kept(), found);
}

std::string reduce_reason(const Node& node) {
  std::string reason = needs_numbers(node);
  return reason.empty() ? axes_reason(node) : reason;
}

std::string arg_reason(const Node& node) {
  return node.input(0)->type().dtype == DType::kBool ? "dtype bool, only numbers" : std::string();
}

constexpr LoweringRow kReductionRows[] = {
    {Op::kReduceSum, reduce_reason, nullptr, reduce},
    {Op::kReduceProd, reduce_reason, nullptr, reduce},
    {Op::kReduceMax, axes_reason, nullptr, reduce},
    {Op::kReduceMin, axes_reason, nullptr, reduce},
    {Op::kReduceL1, reduce_reason, nullptr, reduce},
    {Op::kReduceL2, reduce_reason, nullptr, reduce_sum<root_of, square>},
    {Op::kReduceSumSquare, reduce_reason, nullptr, reduce},
    {Op::kReduceLogSum, reduce_reason, nullptr, reduce_sum<logarithm_of>},
    {Op::kReduceMean, reduce_reason, nullptr, reduce_sum<div>},
    {Op::kReduceLogSumExp, reduce_reason, nullptr, log_sum_exp},
    {Op::kArgMax, arg_reason, nullptr, arg_best<Combine::kArgMax>},
    {Op::kArgMin, arg_reason, nullptr, arg_best<Combine::kArgMin>},
};

}  // namespace

bool shares_sweep(const Node& a, const Node& b) {
  if (find_reduction(a) == nullptr || find_reduction(b) == nullptr) return false;
  const auto axes = reduced_axes(a);
  return a.input(0) == b.input(0) && axes && axes == reduced_axes(b) &&
         a.output().type().dims == b.output().type().dims && a.output().uses().empty() &&
         b.output().uses().empty();
}

std::span<const LoweringRow> reduction_rows() { return kReductionRows; }

}  // namespace sluice::loop
