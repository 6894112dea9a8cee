// Ops that read elements by position.
#include <algorithm>
#include <numeric>

#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

// A stride larger than every dim; rounding up does not overflow with it.
constexpr int64_t kLongest = int64_t{1} << 61;
constexpr int64_t kFar = INT32_MAX;  // exporters write this and more for "to the end"

Result<void> infer_gather(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kIndexSet));
  SLUICE_TRY(call.expect_rank(0, 1, INT64_MAX));
  const Shape data = call.shape(0);
  const Shape indices = call.shape(1);
  if (!data || !indices) return call.give(0, call.dtype(0), std::nullopt);
  SLUICE_ASSIGN(const int64_t axis, call.axis_attribute(attributes::Gather::axis, rank_of(*data)));
  Dims dims(data->begin(), data->begin() + axis);
  dims.insert(dims.end(), indices->begin(), indices->end());
  dims.insert(dims.end(), data->begin() + axis + 1, data->end());
  return call.give(0, call.dtype(0), std::move(dims));
}

Result<void> infer_gather_elements(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kIndexSet));
  SLUICE_TRY(call.expect_rank(0, 1, INT64_MAX));
  if (const Shape data = call.shape(0)) {
    SLUICE_ASSIGN(const int64_t axis,
                  call.axis_attribute(attributes::Gather::axis, rank_of(*data)));
    SLUICE_TRY(expect_within(call, *data, axis));
  }
  return call.give(0, call.dtype(0), call.shape(1));
}

Result<void> infer_gather_nd(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kI64Set));
  SLUICE_TRY(call.expect_rank(0, 1, INT64_MAX));
  SLUICE_TRY(call.expect_rank(1, 1, INT64_MAX));
  const Shape data = call.shape(0);
  const Shape indices = call.shape(1);
  if (!data || !indices || !indices->back().is_fixed())
    return call.give(0, call.dtype(0), std::nullopt);
  const int64_t batch = call.node.get(attributes::GatherND::batch_dims);
  const int64_t depth = indices->back().value;
  if (batch < 0 || batch >= rank_of(*indices) || batch >= rank_of(*data))
    return call.bad_shape("attribute 'batch_dims' is {}", batch);
  if (depth < 1 || depth > rank_of(*data) - batch)
    return call.bad_shape("indices of {} numbers into {} dims", depth, rank_of(*data) - batch);
  Dims dims(indices->begin(), indices->end() - 1);
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
    SLUICE_ASSIGN(dims[i], call.unify(dims[i], (*data)[i], "batch dims of data and indices"));
  }
  dims.insert(dims.end(), data->begin() + batch + depth, data->end());
  return call.give(0, call.dtype(0), std::move(dims));
}

// Returns a start or end as a position from 0 to `whole`, or unknown when its sign is unknown.
Dim place_of(InferCall& call, const Dim& given, const Dim& whole) {
  DimMath& math = call.math;
  if (given.is_unknown()) return given;
  if (given.is_fixed()) {
    if (given.value >= kFar && !whole.is_fixed()) return whole;
    if (given.value <= -kFar && !whole.is_fixed()) return Dim::fixed(0);
    return given.value >= 0 ? math.minimum(given, whole)
                            : math.maximum(math.add(whole, given), Dim::fixed(0));
  }
  const Interval range = call.module.expressions.bounds(static_cast<ExpressionId>(given.value));
  if (range.low >= 0) return math.minimum(given, whole);
  if (range.high < 0) return math.maximum(math.add(whole, given), Dim::fixed(0));
  return Dim::unknown();
}

// Returns the size of a slice with a negative step, with positions from -1 to whole - 1. Symbolic
// dims are supported only for the full reversal.
Dim sliced_backwards(InferCall& call, const Dim& whole, const Dim& start, const Dim& end,
                     int64_t step) {
  if (!start.is_fixed() || !end.is_fixed()) return Dim::unknown();
  const int64_t stride = step <= -kLongest ? kLongest : -step;
  if (!whole.is_fixed()) {
    const bool all = (start.value == -1 || start.value >= kFar) && end.value <= -kFar;
    return all ? call.math.ceil_divide(whole, stride) : Dim::unknown();
  }
  const auto place = [&](int64_t given) {
    const Dim from_end = call.math.add(whole, given);
    return std::clamp<int64_t>(given < 0 ? from_end.value : given, -1,
                               std::max<int64_t>(whole.value - 1, -1));
  };
  const int64_t first =
      std::clamp<int64_t>(start.value < 0 ? call.math.add(whole, start.value).value : start.value,
                          0, std::max<int64_t>(whole.value - 1, 0));
  if (whole.value == 0) return Dim::fixed(0);
  return call.math.ceil_divide(Dim::fixed(std::max<int64_t>(first - place(end.value), 0)), stride);
}

Dim sliced_dim(InferCall& call, const Dim& whole, const Dim& start, const Dim& end,
               const Dim& step) {
  if (!step.is_fixed()) return Dim::unknown();
  if (step.value < 0) return sliced_backwards(call, whole, start, end, step.value);
  const Dim length = call.math.subtract(place_of(call, end, whole), place_of(call, start, whole));
  return call.math.ceil_divide(call.math.maximum(length, Dim::fixed(0)),
                               std::min(step.value, kLongest));
}

// Reads one of starts, ends, steps, and checks its number of elements against `count` where that is
// known (not negative).
Result<std::optional<Dims>> slice_operand(InferCall& call, size_t index, int64_t& count) {
  SLUICE_TRY(call.expect_dtype(index, kIndexSet));
  SLUICE_TRY(call.expect_rank(index, 1));
  const Dim length = call.dim(index, 0);
  if (length.is_fixed() && count >= 0 && length.value != count) {
    return call.bad_shape("{} has {} elements, expected {}", call.input_name(index), length.value,
                          count);
  }
  if (length.is_fixed()) count = length.value;
  return call.value_dims(index);
}

Result<void> infer_slice(InferCall& call) {
  int64_t count = -1;
  SLUICE_ASSIGN(const auto starts, slice_operand(call, 1, count));
  SLUICE_ASSIGN(const auto ends, slice_operand(call, 2, count));
  if (call.has_input(3)) SLUICE_TRY(slice_operand(call, 3, count));
  SLUICE_ASSIGN(const auto steps, slice_operand(call, 4, count));
  const Shape data = call.shape(0);
  if (!data) return call.give(0, call.dtype(0), std::nullopt);
  std::vector<int64_t> axes(count >= 0 && count <= rank_of(*data) ? static_cast<size_t>(count)
                                                                  : data->size());
  if (count > rank_of(*data)) return call.bad_shape("{} slices of {} dims", count, data->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has_input(3)) {
    const auto given = call.integers(3);
    if (!given) return call.give(0, call.dtype(0), Dims(data->size(), Dim::unknown()));
    SLUICE_ASSIGN(axes, call.axes(*given, rank_of(*data)));
  }
  Dims dims = *data;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto pick = [&](const std::optional<Dims>& list) {
      return list && i < list->size() ? (*list)[i] : Dim::unknown();
    };
    const Dim step = call.has_input(4) ? pick(steps) : Dim::fixed(1);
    if (step == Dim::fixed(0)) return call.bad_shape("a step is 0");
    Dim& dim = dims[static_cast<size_t>(axes[i])];
    dim = sliced_dim(call, dim, pick(starts), pick(ends), step);
  }
  return call.give(0, call.dtype(0), std::move(dims));
}

constexpr OpRow kIndexingRows[] = {
    {Op::kGather, 2, 2, 1, 1, 0, attribute_rows::Gather, infer_gather},
    {Op::kGatherElements, 2, 2, 1, 1, 0, attribute_rows::Gather, infer_gather_elements},
    {Op::kGatherND, 2, 2, 1, 1, 0, attribute_rows::GatherND, infer_gather_nd},
    {Op::kSlice, 3, 5, 1, 1, 0, {}, infer_slice},
};

}  // namespace

std::span<const OpRow> indexing_rows() { return kIndexingRows; }

}  // namespace sluice
