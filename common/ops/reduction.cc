// Reductions: Reduce*, ArgMax, ArgMin.
#include <numeric>

#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

// Returns the shape when only the number of axes is known.
Shape unknown_axes_shape(const InferCall& call, const Dims& dims, bool keep) {
  if (keep) return Dims(dims.size(), Dim::unknown());
  const Dim count = call.dim(1, 0);
  if (!count.is_fixed() || count.value < 1 || count.value > rank_of(dims)) return std::nullopt;
  return Dims(dims.size() - static_cast<size_t>(count.value), Dim::unknown());
}

template <uint32_t set>
Result<void> infer_reduce(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, set));
  SLUICE_TRY(call.expect_dtype(1, kI64Set));
  SLUICE_TRY(call.expect_rank(1, 1));
  const Shape shape = call.shape(0);
  if (!shape) return call.give(0, call.dtype(0), std::nullopt);
  const bool keep = call.node.get(attributes::Reduce::keepdims) != 0;
  const bool no_axes = !call.has_input(1) || call.dim(1, 0) == Dim::fixed(0);
  if (no_axes && call.node.get(attributes::Reduce::noop_with_empty_axes) != 0)
    return call.give_like(0, 0);
  std::vector<int64_t> axes(shape->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (!no_axes) {
    const auto given = call.integers(1);
    if (!given) return call.give(0, call.dtype(0), unknown_axes_shape(call, *shape, keep));
    SLUICE_ASSIGN(axes, call.axes(*given, rank_of(*shape)));
  }
  return call.give(0, call.dtype(0), without_axes(*shape, axes, keep));
}

Result<void> infer_arg(InferCall& call) {
  const Shape shape = call.shape(0);
  if (!shape) return call.give(0, DType::kI64, std::nullopt);
  SLUICE_ASSIGN(const int64_t axis, call.axis_attribute(attributes::ArgMax::axis, rank_of(*shape)));
  const bool keep = call.node.get(attributes::ArgMax::keepdims) != 0;
  const auto& dims = *shape;
  if (dims[static_cast<size_t>(axis)] == Dim::fixed(0))
    return call.bad_shape("axis {} of {} has no elements", axis, call.input_name(0));
  SLUICE_TRY(call.expect_min(dims[static_cast<size_t>(axis)], 1, "the size of the reduced axis"));
  return call.give(0, DType::kI64, without_axes(*shape, std::span(&axis, 1), keep));
}

constexpr OpRow reduce(Op op, Result<void> (*infer)(InferCall&) = infer_reduce<kNumericSet>) {
  return {op, 1, 2, 1, 1, 0, attribute_rows::Reduce, infer};
}

constexpr OpRow kReductionRows[] = {
    {Op::kArgMax, 1, 1, 1, 1, 0, attribute_rows::ArgMax, infer_arg},
    {Op::kArgMin, 1, 1, 1, 1, 0, attribute_rows::ArgMax, infer_arg},
    reduce(Op::kReduceL1),
    reduce(Op::kReduceL2),
    reduce(Op::kReduceLogSum),
    reduce(Op::kReduceLogSumExp),
    reduce(Op::kReduceMax, infer_reduce<kNumericSet | kBoolSet>),
    reduce(Op::kReduceMean),
    reduce(Op::kReduceMin, infer_reduce<kNumericSet | kBoolSet>),
    reduce(Op::kReduceProd),
    reduce(Op::kReduceSum),
    reduce(Op::kReduceSumSquare),
};

}  // namespace

std::span<const OpRow> reduction_rows() { return kReductionRows; }

}  // namespace sluice
