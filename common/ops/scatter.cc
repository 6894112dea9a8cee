// Ops that write elements by position into a copy of their first input.
#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

Result<void> check_reduction(const InferCall& call) {
  const std::string reduction = call.node.get(attributes::ScatterND::reduction);
  for (const std::string_view known : {"none", "add", "mul", "max", "min"}) {
    if (reduction == known) return {};
  }
  return call.bad_node("attribute 'reduction' is '{}'", reduction);
}

Result<void> infer_scatter_elements(InferCall& call) {
  SLUICE_TRY(check_reduction(call));
  SLUICE_TRY(call.expect_dtype(1, kIndexSet));
  SLUICE_TRY(call.expect_same_dtype(2, 0));
  SLUICE_TRY(call.expect_rank(0, 1, INT64_MAX));
  SLUICE_TRY(call.unify(call.shape(1), call.shape(2), "shapes of indices and updates"));
  if (const Shape data = call.shape(0)) {
    SLUICE_ASSIGN(const int64_t axis,
                  call.axis_attribute(attributes::ScatterElements::axis, rank_of(*data)));
    SLUICE_TRY(expect_within(call, *data, axis));
  }
  return call.give_like(0, 0);
}

// Infers ScatterND. Indices [.., k] are positions in the first k dims of the data, where the
// updates [.., data dims from k on] are written.
Result<void> infer_scatter_nd(InferCall& call) {
  SLUICE_TRY(check_reduction(call));
  SLUICE_TRY(call.expect_dtype(1, kI64Set));
  SLUICE_TRY(call.expect_same_dtype(2, 0));
  SLUICE_TRY(call.expect_rank(0, 1, INT64_MAX));
  SLUICE_TRY(call.expect_rank(1, 1, INT64_MAX));
  const Shape data = call.shape(0);
  const Shape indices = call.shape(1);
  if (data && indices && indices->back().is_fixed()) {
    const int64_t depth = indices->back().value;
    if (depth < 0 || depth > rank_of(*data))
      return call.bad_shape("indices of {} numbers into {} dims", depth, data->size());
    Dims updates(indices->begin(), indices->end() - 1);
    updates.insert(updates.end(), data->begin() + depth, data->end());
    SLUICE_TRY(call.unify(Shape(updates), call.shape(2),
                          "the shape that indices ask for and that of updates"));
  }
  return call.give_like(0, 0);
}

// Infers a cache of keys or values, updated along `axis` at one position per batch.
Result<void> infer_tensor_scatter(InferCall& call) {
  SLUICE_TRY(call.expect_same_dtype(1, 0));
  SLUICE_TRY(call.expect_dtype(2, kI64Set));
  SLUICE_TRY(call.expect_rank(2, 1));
  const bool is_circular = call.node.get(attributes::TensorScatter::mode) == "circular";
  const Shape cache = call.shape(0);
  const Shape update = call.shape(1);
  if (cache) {
    SLUICE_ASSIGN(const int64_t axis,
                  call.axis_attribute(attributes::TensorScatter::axis, rank_of(*cache)));
    if (axis == 0) return call.bad_shape("attribute 'axis' names the batch dim");
    SLUICE_TRY(call.expect_rank(1, rank_of(*cache)));
    if (call.has_input(2)) {
      SLUICE_TRY(call.unify((*cache)[0], call.dim(2, 0), "the batch and the number of positions"));
    }
    for (size_t i = 0; update && i < cache->size(); ++i) {
      const std::string what = fmt::format("dims {} of cache and update", i);
      if (i == static_cast<size_t>(axis) && is_circular) continue;  // positions come again
      if (i == static_cast<size_t>(axis)) {
        SLUICE_TRY(call.expect_max((*update)[i], (*cache)[i], what));
      } else {
        SLUICE_TRY(call.unify((*cache)[i], (*update)[i], what));
      }
    }
  }
  return call.give_like(0, 0);
}

constexpr OpRow kScatterRows[] = {
    {Op::kScatter, 3, 3, 1, 1, 0, attribute_rows::Scatter, infer_scatter_elements},
    {Op::kScatterElements, 3, 3, 1, 1, 0, attribute_rows::ScatterElements, infer_scatter_elements},
    {Op::kScatterND, 3, 3, 1, 1, 0, attribute_rows::ScatterND, infer_scatter_nd},
    {Op::kTensorScatter, 2, 3, 1, 1, 0, attribute_rows::TensorScatter, infer_tensor_scatter},
};

}  // namespace

std::span<const OpRow> scatter_rows() { return kScatterRows; }

}  // namespace sluice
