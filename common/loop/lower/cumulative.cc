// CumSum and CumProd:
//
//   for other axes: for i along the axis: a = a + x[i], y[i] = a (exclusive: what a was before)
#include "common/loop/lower/families.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

using Id = InstructionId;

template <ScalarOp op, int first>
Result<void> cumulate(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  Index extents = l.extents(x);
  const size_t axis = Lowering::axis_of((*Lowering::integers(node, 1))[0], extents.size());
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
  return l.give(node, 0, index, exclusive ? before : next);
}

std::string cumulate_reason(const Node& node) {
  const auto axis = Lowering::integers(node, 1);
  if (!axis || axis->size() != 1) return "the axis is known only while running";
  return needs_numbers(node);
}

constexpr LoweringRow kRows[] = {
    {Op::kCumSum, cumulate_reason, nullptr, cumulate<ScalarOp::kAdd, 0>},
    {Op::kCumProd, cumulate_reason, nullptr, cumulate<ScalarOp::kMul, 1>},
};

}  // namespace

std::span<const LoweringRow> cumulative_rows() { return kRows; }

}  // namespace sluice::loop
