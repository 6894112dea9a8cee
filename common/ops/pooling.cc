// Pooling over windows and over all spatial dims, and unpooling.
#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/window.h"

namespace sluice {
namespace {

Result<Shape> pooled_shape(InferCall& call) {
  SLUICE_TRY(call.expect_rank(0, 3, INT64_MAX));
  const Shape input = call.shape(0);
  const std::vector<int64_t> kernel = call.node.get(attributes::Pool::kernel_shape);
  const size_t spatial = input ? input->size() - 2 : kernel.size();
  SLUICE_TRY(call.ints(attributes::Pool::kernel_shape, spatial, 1));
  Dims window;
  for (const int64_t size : kernel) window.push_back(Dim::fixed(size));
  const Dims in = input ? Dims(input->begin() + 2, input->end()) : Dims(spatial, Dim::unknown());
  SLUICE_ASSIGN(const Dims out, window_dims(call, in, window));
  Dims dims{call.dim(0, 0), call.dim(0, 1)};
  dims.insert(dims.end(), out.begin(), out.end());
  return Shape(std::move(dims));
}

template <uint32_t set>
Result<void> infer_pool(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, set));
  SLUICE_ASSIGN(const Shape shape, pooled_shape(call));
  SLUICE_TRY(call.give(0, call.dtype(0), shape));
  return call.give(1, DType::kI64, shape);
}

Result<void> infer_global(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_rank(0, 2, INT64_MAX));
  Shape shape = call.shape(0);
  for (size_t i = 2; shape && i < shape->size(); ++i) (*shape)[i] = Dim::fixed(1);
  return call.give(0, call.dtype(0), std::move(shape));
}

Result<void> infer_max_unpool(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(2, kI64Set));
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_dtype(1, kI64Set));
  SLUICE_TRY(call.expect_rank(0, 3, INT64_MAX));
  SLUICE_ASSIGN(const Shape input,
                call.unify(call.shape(0), call.shape(1), "shapes of values and indices"));
  if (!input) return call.give(0, call.dtype(0), std::nullopt);
  if (call.has_input(2)) {
    const auto given = call.value_dims(2);
    if (given && given->size() != input->size())
      return call.bad_shape("{} has {} elements, expected {}", call.input_name(2), given->size(),
                            input->size());
    return call.give(0, call.dtype(0),
                     given ? Shape(*given) : unknown_dims(Dim::fixed(rank_of(*input))));
  }
  const size_t spatial = input->size() - 2;
  SLUICE_ASSIGN(const auto kernel, call.ints(attributes::MaxUnpool::kernel_shape, spatial, 1));
  SLUICE_ASSIGN(const auto strides, call.ints(attributes::Strided::strides, spatial, 1));
  SLUICE_ASSIGN(const auto pads, call.ints(attributes::Strided::pads, 2 * spatial, 0));
  Dims dims = *input;
  for (size_t i = 0; i < spatial; ++i) {
    const Dim spread = call.math.multiply(call.math.add(dims[i + 2], -1), strides[i]);
    const Dim pad = call.math.add(Dim::fixed(pads[i]), pads[i + spatial]);
    dims[i + 2] = call.math.subtract(call.math.add(spread, kernel[i]), pad);
  }
  return call.give(0, call.dtype(0), std::move(dims));
}

// Infers regions [R, 5] of images [N, C, H, W]: [R, C, pooled height, pooled width].
Result<void> infer_max_roi_pool(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_rank(0, 4));
  SLUICE_TRY(call.expect_rank(1, 2));
  SLUICE_ASSIGN(const auto pooled, call.ints(attributes::MaxRoiPool::pooled_shape, 2, 1));
  return call.give(
      0, call.dtype(0),
      Dims{call.dim(1, 0), call.dim(0, 1), Dim::fixed(pooled[0]), Dim::fixed(pooled[1])});
}

Result<void> infer_roi_align(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(2, kIndexSet));
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_rank(0, 4));
  SLUICE_TRY(call.expect_rank(1, 2));
  SLUICE_TRY(call.expect_rank(2, 1));
  const int64_t height = call.node.get(attributes::RoiAlign::output_height);
  const int64_t width = call.node.get(attributes::RoiAlign::output_width);
  if (height < 1 || width < 1)
    return call.bad_node("its result would have {} x {} pixels", height, width);
  SLUICE_TRY(call.expect_min(call.dim(0, 2), 1, "the height of the input"));
  SLUICE_TRY(call.expect_min(call.dim(0, 3), 1, "the width of the input"));
  SLUICE_ASSIGN(const Dim regions, call.unify(call.dim(1, 0), call.dim(2, 0),
                                              "numbers of regions and of batch indices"));
  return call.give(0, call.dtype(0),
                   Dims{regions, call.dim(0, 1), Dim::fixed(height), Dim::fixed(width)});
}

constexpr uint32_t kMaxSet = kFloatSet | dtype_set({DType::kI8, DType::kU8});

constexpr OpRow kPoolingRows[] = {
    {Op::kAveragePool, 1, 1, 1, 1, 0, attribute_rows::AveragePool, infer_pool<kFloatSet>},
    {Op::kGlobalAveragePool, 1, 1, 1, 1, 0, {}, infer_global},
    {Op::kGlobalLpPool, 1, 1, 1, 1, 0, attribute_rows::GlobalLpPool, infer_global},
    {Op::kGlobalMaxPool, 1, 1, 1, 1, 0, {}, infer_global},
    {Op::kLpPool, 1, 1, 1, 1, 0, attribute_rows::LpPool, infer_pool<kFloatSet>},
    {Op::kMaxPool, 1, 1, 1, 2, 0, attribute_rows::MaxPool, infer_pool<kMaxSet>},
    {Op::kMaxRoiPool, 2, 2, 1, 1, 0, attribute_rows::MaxRoiPool, infer_max_roi_pool},
    {Op::kMaxUnpool, 2, 3, 1, 1, 0, attribute_rows::MaxUnpool, infer_max_unpool},
    {Op::kRoiAlign, 3, 3, 1, 1, 0, attribute_rows::RoiAlign, infer_roi_align},
};

}  // namespace

std::span<const OpRow> pooling_rows() { return kPoolingRows; }

}  // namespace sluice
