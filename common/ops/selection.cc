// Ops that order, select or mark elements along an axis. The number of results of some depends on
// the data.
#include <algorithm>
#include <numeric>

#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

Result<void> infer_non_zero(InferCall& call) {
  const Shape input = call.shape(0);
  const Dim rank = input ? Dim::fixed(std::max<int64_t>(rank_of(*input), 1)) : Dim::unknown();
  const Dim maximum = input ? call.math.product(*input) : Dim::unknown();
  return call.give(0, DType::kI64, Dims{rank, call.result_dim(0, 1, maximum)});
}

Result<void> infer_compress(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kBoolSet));
  SLUICE_TRY(call.expect_rank(1, 1));
  const Shape input = call.shape(0);
  if (!call.node.has(attributes::Compress::axis)) {
    return call.give(
        0, call.dtype(0),
        Dims{call.result_dim(0, 0, input ? call.math.product(*input) : Dim::unknown())});
  }
  if (!input) return call.give(0, call.dtype(0), std::nullopt);
  SLUICE_ASSIGN(const int64_t axis,
                call.axis_attribute(attributes::Compress::axis, rank_of(*input)));
  Dims dims = *input;
  Dim& dim = dims[static_cast<size_t>(axis)];
  dim = call.result_dim(0, static_cast<size_t>(axis), dim);
  return call.give(0, call.dtype(0), std::move(dims));
}

// Infers Unique. Results: the unique slices, the first index of each, the index of each slice's
// unique slice, and the count of each.
Result<void> infer_unique(InferCall& call) {
  const Shape input = call.shape(0);
  const bool flat = !call.node.has(attributes::Unique::axis);
  if (!input && !flat) {
    SLUICE_TRY(call.give(0, call.dtype(0), std::nullopt));
    for (const size_t i : {1, 2, 3}) SLUICE_TRY(call.give(i, DType::kI64, Dims{Dim::unknown()}));
    return {};
  }
  int64_t axis = 0;
  if (!flat) {
    SLUICE_ASSIGN(axis, call.axis_attribute(attributes::Unique::axis, rank_of(*input)));
  }
  const Dim whole = !input ? Dim::unknown()
                    : flat ? call.math.product(*input)
                           : (*input)[static_cast<size_t>(axis)];
  const Dim count = call.result_dim(0, static_cast<size_t>(axis), whole);
  Dims dims = flat ? Dims{count} : *input;
  dims[static_cast<size_t>(axis)] = count;
  SLUICE_TRY(call.give(0, call.dtype(0), std::move(dims)));
  SLUICE_TRY(call.give(1, DType::kI64, Dims{count}));
  SLUICE_TRY(call.give(2, DType::kI64, Dims{whole}));
  return call.give(3, DType::kI64, Dims{count});
}

Result<void> infer_top_k(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kNumericSet));
  SLUICE_TRY(call.expect_dtype(1, kI64Set));
  SLUICE_TRY(call.expect_one_element(1));
  Shape shape = call.shape(0);
  if (shape) {
    SLUICE_ASSIGN(const int64_t axis, call.axis_attribute(attributes::TopK::axis, rank_of(*shape)));
    Dim& dim = (*shape)[static_cast<size_t>(axis)];
    const auto k = call.value_dims(1);
    const Dim wanted = k && k->size() == 1 ? k->front() : Dim::unknown();
    if (wanted.is_fixed() && (wanted.value < 0 || call.math.bounds(dim).high < wanted.value)) {
      return call.bad_shape("{} elements are asked for along axis {}, which has fewer",
                            wanted.value, axis);
    }
    SLUICE_TRY(call.expect_max(wanted, dim, "elements that are asked for and that there are"));
    dim = wanted;
  }
  SLUICE_TRY(call.give(0, call.dtype(0), shape));
  return call.give(1, DType::kI64, shape);
}

Result<void> infer_one_hot(InferCall& call) {
  for (const size_t i : {0, 1}) SLUICE_TRY(call.expect_dtype(i, kRealSet));
  SLUICE_TRY(call.expect_one_element(1));
  SLUICE_TRY(call.expect_rank(2, 1));
  Shape shape = call.shape(0);
  if (!shape) return call.give(0, call.dtype(2), std::nullopt);
  SLUICE_ASSIGN(const int64_t axis,
                call.axis_attribute(attributes::OneHot::axis, rank_of(*shape) + 1));
  const auto depth = call.value_dims(1);
  shape->insert(shape->begin() + axis,
                depth && depth->size() == 1 ? depth->front() : Dim::unknown());
  return call.give(0, call.dtype(2), std::move(shape));
}

Result<void> infer_reverse_sequence(InferCall& call) {
  SLUICE_TRY(call.expect_rank(0, 2, INT64_MAX));
  SLUICE_TRY(call.expect_dtype(1, kI64Set));
  SLUICE_TRY(call.expect_rank(1, 1));
  const int64_t batch = call.node.get(attributes::ReverseSequence::batch_axis);
  const int64_t time = call.node.get(attributes::ReverseSequence::time_axis);
  if (batch < 0 || batch > 1 || time != 1 - batch)
    return call.bad_node("attributes 'batch_axis' and 'time_axis' are {} and {}", batch, time);
  SLUICE_TRY(call.unify(call.dim(0, static_cast<size_t>(batch)), call.dim(1, 0),
                        "batch and sequence lengths"));
  return call.give_like(0, 0);
}

Result<void> infer_trilu(InferCall& call) {
  SLUICE_TRY(call.expect_rank(0, 2, INT64_MAX));
  SLUICE_TRY(call.expect_dtype(1, kI64Set));
  SLUICE_TRY(call.expect_one_element(1));
  return call.give_like(0, 0);
}

Result<void> infer_cumulative(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kNumericSet));
  SLUICE_TRY(call.expect_rank(0, 1, INT64_MAX));
  SLUICE_TRY(call.expect_dtype(1, kIndexSet));
  SLUICE_TRY(call.expect_one_element(1));
  const auto axis = call.integers(1);
  const Shape shape = call.shape(0);
  if (axis && shape && axis->size() == 1) SLUICE_TRY(call.axis(axis->front(), rank_of(*shape)));
  return call.give_like(0, 0);
}

// Infers NonMaxSuppression: boxes [B, N, 4] and scores [B, C, N] produce [selected, 3].
Result<void> infer_non_max_suppression(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(2, kIndexSet));
  for (const size_t i : {0, 1, 3, 4}) SLUICE_TRY(call.expect_dtype(i, kFloatSet));
  SLUICE_TRY(call.expect_rank(0, 3));
  SLUICE_TRY(call.expect_rank(1, 3));
  SLUICE_TRY(call.unify(call.dim(0, 0), call.dim(1, 0), "batch dims of boxes and scores"));
  SLUICE_TRY(call.unify(call.dim(0, 1), call.dim(1, 2), "numbers of boxes and scores"));
  SLUICE_TRY(call.unify(call.dim(0, 2), Dim::fixed(4), "numbers of a box"));
  return call.give(0, DType::kI64, Dims{call.result_dim(0, 0), Dim::fixed(3)});
}

constexpr OpRow kSelectionRows[] = {
    {Op::kCompress, 2, 2, 1, 1, kDataDependent, attribute_rows::Compress, infer_compress},
    {Op::kCumProd, 2, 2, 1, 1, 0, attribute_rows::CumSum, infer_cumulative},
    {Op::kCumSum, 2, 2, 1, 1, 0, attribute_rows::CumSum, infer_cumulative},
    {Op::kNonMaxSuppression, 2, 5, 1, 1, kDataDependent, attribute_rows::NonMaxSuppression,
     infer_non_max_suppression},
    {Op::kNonZero, 1, 1, 1, 1, kDataDependent, {}, infer_non_zero},
    {Op::kOneHot, 3, 3, 1, 1, 0, attribute_rows::OneHot, infer_one_hot},
    {Op::kReverseSequence, 2, 2, 1, 1, 0, attribute_rows::ReverseSequence, infer_reverse_sequence},
    {Op::kTopK, 2, 2, 1, 2, 0, attribute_rows::TopK, infer_top_k},
    {Op::kTrilu, 1, 2, 1, 1, 0, attribute_rows::Trilu, infer_trilu},
    {Op::kUnique, 1, 1, 1, 4, kDataDependent, attribute_rows::Unique, infer_unique},
};

}  // namespace

std::span<const OpRow> selection_rows() { return kSelectionRows; }

}  // namespace sluice
