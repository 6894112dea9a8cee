// Softmax, LogSoftmax:
//
//   for outer: a = max over i of x[i]
//              for i: e[i] = exp(x[i] - a), b = sum of e[i]     (e is row-local where it fits)
//              for i: y[i] = e[i] / b
//
// and Hardmax.
#include "common/loop/lower/families.h"
#include "common/loop/lower/reasons.h"
#include "common/loop/lower/row.h"
#include "common/loop/lower/scalars.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

Row begin(Lowering& l, const Node& node, int sweeps) {
  const Value& x = *node.input(0);
  const size_t axis = Lowering::axis_of(node.get(attributes::Softmax::axis), x.type().dims.size());
  return Row::begin_nest(l, x, {axis}, sweeps);
}

Result<AccumulatorId> accumulate_largest(Lowering& l, Row& row) {
  SLUICE_ASSIGN(const Id x, row.begin_sweep());
  return l.accumulate(Combine::kMax, lowest(l, l.dtype_of(x)), x);
}

Result<void> softmax(Lowering& l, const Node& node) {
  Row row = begin(l, node, 3);
  SLUICE_ASSIGN(const AccumulatorId largest, accumulate_largest(l, row));
  const auto power = [&]() -> Result<Id> {
    SLUICE_ASSIGN(const Id x, row.begin_sweep());
    return l.scalar(ScalarOp::kExp, sub(l, x, l.value_of(largest)));
  };
  SLUICE_ASSIGN(Id e, power());
  const auto local = l.local_buffer(l.dtype_of(e), row.extents());
  if (local) l.store_local(*local, row.inner(), e);
  const AccumulatorId sum = l.accumulate(Combine::kSum, l.real(l.dtype_of(e), 0), e);
  l.begin_sweep({});
  const Id scale = l.scalar(ScalarOp::kReciprocal, l.value_of(sum));
  if (local) {
    row.begin_other_sweep();
    e = l.load_local(*local, row.inner());
  } else {
    SLUICE_ASSIGN(e, power());
  }
  return l.give(node, 0, row.index(), mul(l, e, scale));
}

Result<void> log_softmax(Lowering& l, const Node& node) {
  Row row = begin(l, node, 3);
  SLUICE_ASSIGN(const AccumulatorId largest, accumulate_largest(l, row));
  const auto shifted = [&]() -> Result<Id> {
    SLUICE_ASSIGN(const Id x, row.begin_sweep());
    return sub(l, x, l.value_of(largest));
  };
  SLUICE_ASSIGN(const Id first, shifted());
  const AccumulatorId sum =
      l.accumulate(Combine::kSum, l.real(l.dtype_of(first), 0), l.scalar(ScalarOp::kExp, first));
  l.begin_sweep({});
  const Id log_sum = l.scalar(ScalarOp::kLog, l.value_of(sum));
  SLUICE_ASSIGN(const Id again, shifted());
  return l.give(node, 0, row.index(), sub(l, again, log_sum));
}

// 1 at the first of the largest elements, 0 elsewhere; a NaN is not larger than any.
Result<void> hardmax(Lowering& l, const Node& node) {
  Row row = begin(l, node, 1);
  SLUICE_ASSIGN(const Id x, row.begin_sweep());
  const DType dtype = l.dtype_of(x);
  const Id low = lowest(l, dtype);
  const Id number = select(l, l.scalar(ScalarOp::kEqual, x, x), x, low);
  const AccumulatorId largest =
      l.accumulate(Combine::kArgMax, low, number, l.index_value(row.inner()[0]));
  l.begin_sweep({});
  const Id position = l.position_of(largest);
  row.begin_other_sweep();
  const Id is_largest = l.scalar(ScalarOp::kEqual, l.index_value(row.inner()[0]), position);
  return l.give(node, 0, row.index(), select(l, is_largest, l.real(dtype, 1), l.real(dtype, 0)));
}

constexpr LoweringRow kSoftmaxRows[] = {
    {Op::kSoftmax, needs_floats, nullptr, softmax},
    {Op::kLogSoftmax, needs_floats, nullptr, log_softmax},
    {Op::kHardmax, needs_floats, nullptr, hardmax},
};

}  // namespace

std::span<const LoweringRow> softmax_rows() { return kSoftmaxRows; }

}  // namespace sluice::loop
