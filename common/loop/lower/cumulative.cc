// CumSum and CumProd:
//
//   for other axes: for i along the axis: a = a + x[i], y[i] = a (exclusive: what a was before)
//
// An axis that is read is one of a few: each has loops, and those of the right one store.
#include <utility>
#include <vector>

#include "common/loop/lower/families.h"
#include "common/loop/lower/operands.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

// The guard of the loops along an axis: it is the one that is read. Negative ones count from the
// end; a run fails where there is no such axis.
Result<Guard> is_the_axis(Lowering& l, const Node& node, size_t axis, int64_t rank) {
  SLUICE_ASSIGN(const Id given, integer_at(l, node, 1, 0));
  const Id named = l.scalar(ScalarOp::kCheckIndex, given, l.integer(DType::kI64, rank));
  const Id own = l.integer(DType::kI64, static_cast<int64_t>(axis));
  return Guard{l.as_index(l.scalar(ScalarOp::kSub, named, own), -rank, rank), l.number(1)};
}

template <ScalarOp op, int first>
Result<void> cumulate_along(Lowering& l, const Node& node, size_t axis, bool is_known) {
  const Value& x = *node.input(0);
  Index extents = l.extents(x);
  const ExpressionId length = extents[axis];
  extents[axis] = l.number(1);
  Index index = l.begin_nest(extents);
  const DType dtype = register_dtype(x.type().dtype);
  const Id initial = l.integer(dtype, first);
  const ExpressionId i = l.begin_sweep({length})[0];
  const bool reverse = node.get(attributes::CumSum::reverse) != 0;
  index[axis] = reverse ? l.table().subtract(l.table().subtract(length, l.number(1)), i) : i;
  SLUICE_ASSIGN(const Id element, l.element(x, index));
  const AccumulatorId carry = l.begin_carry(initial);
  const Id before = l.value_of(carry), next = l.scalar(op, before, element);
  l.end_carry(carry, next);
  const bool exclusive = node.get(attributes::CumSum::exclusive) != 0;
  std::vector<Guard> guards;
  if (!is_known) {
    SLUICE_ASSIGN(const Guard guard,
                  is_the_axis(l, node, axis, static_cast<int64_t>(extents.size())));
    guards.push_back(guard);
  }
  return l.give(node, 0, index, exclusive ? before : next, std::move(guards));
}

template <ScalarOp op, int first>
Result<void> cumulate(Lowering& l, const Node& node) {
  const size_t rank = node.input(0)->type().dims.size();
  if (const auto axis = Lowering::integers(node, 1))
    return cumulate_along<op, first>(l, node, Lowering::axis_of((*axis)[0], rank), true);
  for (size_t axis = 0; axis < rank; ++axis)
    SLUICE_TRY((cumulate_along<op, first>(l, node, axis, false)));
  return {};
}

std::string cumulate_reason(const Node& node) {
  if (node.input(1)->type().element_count() != 1) return "the axis is not one element";
  return needs_numbers(node);
}

constexpr LoweringRow kCumulativeRows[] = {
    {Op::kCumSum, cumulate_reason, nullptr, cumulate<ScalarOp::kAdd, 0>},
    {Op::kCumProd, cumulate_reason, nullptr, cumulate<ScalarOp::kMul, 1>},
};

}  // namespace

std::span<const LoweringRow> cumulative_rows() { return kCumulativeRows; }

}  // namespace sluice::loop
