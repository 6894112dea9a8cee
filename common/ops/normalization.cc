// Softmax and normalizations.
#include <numeric>

#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

template <const IntAttribute& attribute>
Result<void> infer_along_axis(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  if (const Shape shape = call.shape(0))
    SLUICE_TRY(call.axis_attribute(attribute, rank_of(*shape)));
  return call.give_like(0, 0);
}

// Checks that input `index` has one number per channel, dim 1 of input 0.
Result<void> check_per_channel(InferCall& call, size_t index) {
  SLUICE_TRY(call.expect_rank(index, 1));
  SLUICE_TRY(
      call.unify(call.dim(0, 1), call.dim(index, 0),
                 fmt::format("channels of {} and {}", call.input_name(0), call.input_name(index))));
  return {};
}

Result<void> infer_batch_normalization(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_rank(0, 1, INT64_MAX));
  const Shape shape = call.shape(0);
  const Dim channels = shape && shape->size() == 1 ? Dim::fixed(1) : call.dim(0, 1);
  for (size_t i = 1; i < 5; ++i) {
    SLUICE_TRY(call.expect_dtype(i, kFloatSet));
    SLUICE_TRY(call.expect_rank(i, 1));
    SLUICE_TRY(
        call.unify(channels, call.dim(i, 0),
                   fmt::format("channels of {} and {}", call.input_name(0), call.input_name(i))));
  }
  SLUICE_TRY(call.give_like(0, 0));
  SLUICE_TRY(call.give_like(1, 3));
  return call.give_like(2, 4);
}

Result<void> infer_instance_normalization(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_rank(0, 3, INT64_MAX));
  for (const size_t i : {1, 2}) {
    SLUICE_TRY(call.expect_same_dtype(i, 0));
    SLUICE_TRY(check_per_channel(call, i));
  }
  return call.give_like(0, 0);
}

Result<void> infer_group_normalization(InferCall& call) {
  for (const size_t i : {1, 2}) SLUICE_TRY(call.expect_dtype(i, kFloatSet));
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_rank(0, 2, INT64_MAX));
  const int64_t groups = call.node.get(attributes::GroupNormalization::num_groups);
  if (groups < 1) return call.bad_node("attribute 'num_groups' is {}, expected at least 1", groups);
  const Dim channels = call.dim(0, 1);
  SLUICE_TRY(call.expect_multiple(channels, groups, "channels, in groups,"));
  for (const size_t i : {1, 2}) SLUICE_TRY(check_per_channel(call, i));
  return call.give_like(0, 0);
}

// Checks that scale and bias broadcast to the normalized dims, those from `axis` on, or to all
// dims, which ONNX Runtime accepts, and to no others.
Result<int64_t> check_scales(InferCall& call, size_t inputs) {
  const Shape shape = call.shape(0);
  SLUICE_ASSIGN(const int64_t axis,
                call.axis_attribute(attributes::LayerNormalization::axis, rank_of(*shape)));
  const Shape trailing = Dims(shape->begin() + axis, shape->end());
  for (size_t i = 1; i < inputs; ++i) {
    Shape given = call.shape(i);
    if (!given) continue;
    while (given->size() > trailing->size() && given->front() == Dim::fixed(1))
      given->erase(given->begin());
    const bool is_wide = given->size() > trailing->size();
    const Shape& target = is_wide ? shape : trailing;
    SLUICE_ASSIGN(const Shape spread, call.broadcast(target, given));
    const std::string_view dims = is_wide ? "the dims" : "the normalised dims";
    SLUICE_TRY(call.unify(target, spread,
                          fmt::format("{} and {} spread to them", dims, call.input_name(i))));
  }
  return axis;
}

Result<void> infer_layer_normalization(InferCall& call) {
  for (const size_t i : {1, 2}) SLUICE_TRY(call.expect_dtype(i, kFloatSet));
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  const int64_t stash = call.node.get(attributes::LayerNormalization::stash_type);
  const DType statistics =
      dtype_is_valid(static_cast<int>(stash & 255)) ? static_cast<DType>(stash & 255) : DType::kF32;
  const Shape shape = call.shape(0);
  SLUICE_TRY(call.give_like(0, 0));
  if (!shape) return {};
  SLUICE_ASSIGN(const int64_t axis, check_scales(call, 3));
  std::vector<int64_t> axes(shape->size() - static_cast<size_t>(axis));
  std::iota(axes.begin(), axes.end(), axis);
  SLUICE_TRY(call.give(1, statistics, without_axes(*shape, axes, true)));
  return call.give(2, statistics, without_axes(*shape, axes, true));
}

Result<void> infer_rms_normalization(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kFloatSet));
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  if (call.shape(0)) SLUICE_TRY(check_scales(call, 2));
  return call.give_like(0, 0);
}

Result<void> infer_lrn(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_rank(0, 2, INT64_MAX));
  if (call.node.get(attributes::LRN::size) < 1)
    return call.bad_node("attribute 'size' is {}, expected at least 1",
                         call.node.get(attributes::LRN::size));
  return call.give_like(0, 0);
}

Result<void> infer_mean_variance(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  const std::vector<int64_t> axes = call.node.has(attributes::MeanVarianceNormalization::axes)
                                        ? call.node.get(attributes::MeanVarianceNormalization::axes)
                                        : std::vector<int64_t>{0, 2, 3};
  if (const Shape shape = call.shape(0)) SLUICE_TRY(call.axes(axes, rank_of(*shape)));
  return call.give_like(0, 0);
}

constexpr OpRow kNormalizationRows[] = {
    {Op::kBatchNormalization, 5, 5, 1, 3, 0, attribute_rows::BatchNormalization,
     infer_batch_normalization},
    {Op::kGroupNormalization, 3, 3, 1, 1, 0, attribute_rows::GroupNormalization,
     infer_group_normalization},
    {Op::kHardmax, 1, 1, 1, 1, 0, attribute_rows::Softmax,
     infer_along_axis<attributes::Softmax::axis>},
    {Op::kInstanceNormalization, 3, 3, 1, 1, 0, attribute_rows::InstanceNormalization,
     infer_instance_normalization},
    {Op::kLRN, 1, 1, 1, 1, 0, attribute_rows::LRN, infer_lrn},
    {Op::kLayerNormalization, 2, 3, 1, 3, 0, attribute_rows::LayerNormalization,
     infer_layer_normalization},
    {Op::kLogSoftmax, 1, 1, 1, 1, 0, attribute_rows::Softmax,
     infer_along_axis<attributes::Softmax::axis>},
    {Op::kLpNormalization, 1, 1, 1, 1, 0, attribute_rows::LpNormalization,
     infer_along_axis<attributes::LpNormalization::axis>},
    {Op::kMeanVarianceNormalization, 1, 1, 1, 1, 0, attribute_rows::MeanVarianceNormalization,
     infer_mean_variance},
    {Op::kRMSNormalization, 2, 2, 1, 1, 0, attribute_rows::LayerNormalization,
     infer_rms_normalization},
    {Op::kSoftmax, 1, 1, 1, 1, 0, attribute_rows::Softmax,
     infer_along_axis<attributes::Softmax::axis>},
};

}  // namespace

std::span<const OpRow> normalization_rows() { return kNormalizationRows; }

}  // namespace sluice
