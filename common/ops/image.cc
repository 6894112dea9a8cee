// Images: from patches, from files, and deformable convolution.
#include <algorithm>

#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/window.h"

namespace sluice {
namespace {

// Infers columns [N, C * block, L] to an image [N, C, image…].
Result<void> infer_col2im(InferCall& call) {
  SLUICE_TRY(call.expect_rank(0, 3));
  SLUICE_TRY(call.expect_dtype(1, kI64Set));
  SLUICE_TRY(call.expect_dtype(2, kI64Set));
  SLUICE_TRY(call.expect_rank(1, 1));
  SLUICE_TRY(call.expect_rank(2, 1));
  const auto image = call.value_dims(1);
  const auto block = call.value_dims(2);
  const Dim spatial = call.dim(1, 0);
  if (!spatial.is_fixed() || spatial.value > kMaxRank)
    return call.give(0, call.dtype(0), std::nullopt);
  const auto count = static_cast<size_t>(spatial.value);
  if (block && std::any_of(block->begin(), block->end(),
                           [](const Dim& dim) { return dim.is_fixed() && dim.value < 1; })) {
    return call.bad_shape("a block has no elements");
  }
  const Dims size = image ? *image : Dims(count, Dim::unknown());
  const Dims blocks = block ? *block : Dims(count, Dim::unknown());
  if (size.size() != count || blocks.size() != count) {
    return call.bad_shape("image_shape has {} axes, block_shape {}", size.size(), blocks.size());
  }
  const Dim taps = call.math.product(blocks);
  SLUICE_TRY(call.expect_multiple(call.dim(0, 1), taps, "channels, of all places of a block,"));
  SLUICE_ASSIGN(const Dims steps, window_dims(call, size, blocks));
  SLUICE_TRY(call.unify(
      call.dim(0, 2), call.math.product(steps),
      fmt::format("dim 2 of {} and the blocks that cover the image", call.input_name(0))));
  Dims dims{call.dim(0, 0), call.math.floor_divide(call.dim(0, 1), taps)};
  dims.insert(dims.end(), size.begin(), size.end());
  return call.give(0, call.dtype(0), std::move(dims));
}

Result<void> infer_deform_conv(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  for (const size_t i : {1, 2, 3, 4}) SLUICE_TRY(call.expect_same_dtype(i, 0));
  if (call.node.get(attributes::DeformConv::offset_group) < 1)
    return call.bad_node("attribute 'offset_group' is below 1");
  SLUICE_ASSIGN(Shape shape, convolution_shape(call, 0, 1));
  SLUICE_TRY(call.expect_rank(3, 1));
  return call.give(0, call.dtype(0), std::move(shape));
}

// Infers bytes of a file to [height, width, channels].
Result<void> infer_decoder(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, dtype_set({DType::kU8})));
  SLUICE_TRY(call.expect_rank(0, 1));
  const bool grey = call.node.get(attributes::ImageDecoder::pixel_format) == "Grayscale";
  return call.give(0, DType::kU8,
                   Dims{call.result_dim(0, 0), call.result_dim(0, 1), Dim::fixed(grey ? 1 : 3)});
}

constexpr OpRow kImageRows[] = {
    {Op::kCol2Im, 3, 3, 1, 1, 0, attribute_rows::Dilated, infer_col2im},
    {Op::kDeformConv, 3, 5, 1, 1, 0, attribute_rows::DeformConv, infer_deform_conv},
    {Op::kImageDecoder, 1, 1, 1, 1, kDataDependent, attribute_rows::ImageDecoder, infer_decoder},
};

}  // namespace

std::span<const OpRow> image_rows() { return kImageRows; }

}  // namespace sluice
