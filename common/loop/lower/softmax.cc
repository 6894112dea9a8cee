// Softmax and LogSoftmax:
//
//   for outer: a = max over i of x[i]
//              for i: e[i] = exp(x[i] - a), b = sum of e[i]     (e is row-local where it fits)
//              for i: y[i] = e[i] / b
#include <limits>

#include "common/loop/lower/families.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

using Id = InstructionId;

struct Row {
  Index index;
  size_t axis;
  ExpressionId length;
};

Index at(const Row& row, ExpressionId i) {
  Index index = row.index;
  index[row.axis] = i;
  return index;
}

Result<void> softmax(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  const bool is_log = node.op() == Op::kLogSoftmax;
  const DType dtype = register_dtype(x.type().dtype);
  Row row{{}, Lowering::axis_of(node.get(attributes::Softmax::axis), x.type().dims.size()), -1};
  Index extents = l.extents(x);
  row.length = extents[row.axis];
  extents[row.axis] = l.number(1);
  row.index = l.begin_nest(extents);

  Index i = l.begin_sweep({row.length});
  SLUICE_ASSIGN(const Id first, l.element(x, at(row, i[0])));
  const AccumulatorId largest =
      l.accumulate(Combine::kMax, l.real(dtype, -std::numeric_limits<double>::infinity()), first);

  const auto shifted = [&](ExpressionId place) -> Result<Id> {
    SLUICE_ASSIGN(const Id element, l.element(x, at(row, place)));
    return l.scalar(ScalarOp::kSub, element, l.value_of(largest));
  };
  i = l.begin_sweep({row.length});
  SLUICE_ASSIGN(const Id second, shifted(i[0]));
  const Id power = l.scalar(ScalarOp::kExp, second);
  const auto local = is_log ? std::nullopt : l.local_buffer(dtype, {row.length});
  if (local) l.store_local(*local, {i[0]}, power);
  const AccumulatorId sum = l.accumulate(Combine::kSum, l.real(dtype, 0), power);

  l.begin_sweep({});
  const Id scale = is_log ? l.scalar(ScalarOp::kLog, l.value_of(sum))
                          : l.scalar(ScalarOp::kReciprocal, l.value_of(sum));
  i = l.begin_sweep({row.length});
  if (is_log) {
    SLUICE_ASSIGN(const Id third, shifted(i[0]));
    return l.give(node, 0, at(row, i[0]), l.scalar(ScalarOp::kSub, third, scale));
  }
  Id third = 0;
  if (local) {
    third = l.load_local(*local, {i[0]});
  } else {
    SLUICE_ASSIGN(const Id element, shifted(i[0]));
    third = l.scalar(ScalarOp::kExp, element);
  }
  return l.give(node, 0, at(row, i[0]), l.scalar(ScalarOp::kMul, third, scale));
}

constexpr LoweringRow kRows[] = {
    {Op::kSoftmax, needs_floats, nullptr, softmax},
    {Op::kLogSoftmax, needs_floats, nullptr, softmax},
};

}  // namespace

std::span<const LoweringRow> softmax_rows() { return kRows; }

}  // namespace sluice::loop
