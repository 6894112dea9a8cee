// Sums of products: convolutions, matrix products.
#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/window.h"

namespace sluice {
namespace {

Result<void> infer_conv(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_same_dtype(1, 0));
  SLUICE_TRY(call.expect_same_dtype(2, 0));
  SLUICE_ASSIGN(Shape shape, convolution_shape(call, 0, 1));
  SLUICE_TRY(call.expect_rank(2, 1));
  if (shape) {
    SLUICE_ASSIGN((*shape)[1],
                  call.unify((*shape)[1], call.dim(2, 0), "output channels and the bias"));
  }
  return call.give(0, call.dtype(0), std::move(shape));
}

Result<void> infer_conv_integer(InferCall& call) {
  constexpr uint32_t kBytes = dtype_set({DType::kU8, DType::kI8});
  SLUICE_TRY(call.expect_dtype(0, kBytes));
  SLUICE_TRY(call.expect_dtype(1, kBytes));
  SLUICE_TRY(call.expect_same_dtype(2, 0));
  SLUICE_TRY(call.expect_one_element(2));
  SLUICE_TRY(call.expect_same_dtype(3, 1));
  SLUICE_ASSIGN(Shape shape, convolution_shape(call, 0, 1));
  return call.give(0, DType::kI32, std::move(shape));
}

// Infers each spatial dim: stride * (in - 1) + output_padding + window - pads, or that of
// output_shape.
Result<Dims> transposed_dims(InferCall& call, std::span<const Dim> in,
                             std::span<const Dim> kernel) {
  const size_t count = in.size();
  SLUICE_ASSIGN(const auto strides, call.ints(attributes::Strided::strides, count, 1));
  SLUICE_ASSIGN(const auto dilations, call.ints(attributes::Dilated::dilations, count, 1));
  SLUICE_ASSIGN(const auto pads, call.ints(attributes::Strided::pads, 2 * count, 0));
  SLUICE_ASSIGN(const auto extra, call.ints(attributes::ConvTranspose::output_padding, count, 0));
  if (call.node.has(attributes::ConvTranspose::output_shape)) {
    SLUICE_ASSIGN(const auto given, call.ints(attributes::ConvTranspose::output_shape, count, 0));
    Dims dims;
    for (const int64_t dim : given) dims.push_back(Dim::fixed(dim));
    return dims;
  }
  const std::string auto_pad = call.node.get(attributes::Window::auto_pad);
  Dims dims;
  for (size_t i = 0; i < count; ++i) {
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      dims.push_back(call.math.multiply(in[i], strides[i]));
      continue;
    }
    const Dim window = window_extent(call, kernel[i], dilations[i]);
    const Dim spread = call.math.multiply(call.math.add(in[i], -1), strides[i]);
    Dim dim = call.math.add(call.math.add(spread, window), extra[i]);
    if (auto_pad != "VALID")
      dim = call.math.subtract(dim, call.math.add(Dim::fixed(pads[i]), pads[i + count]));
    dims.push_back(dim);
  }
  return dims;
}

Result<void> infer_conv_transpose(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_same_dtype(1, 0));
  SLUICE_TRY(call.expect_same_dtype(2, 0));
  SLUICE_TRY(call.expect_rank(0, 3, INT64_MAX));
  SLUICE_TRY(call.expect_rank(2, 1));
  const int64_t group = call.node.get(attributes::Conv::group);
  if (group < 1) return call.bad_node("attribute 'group' is {}, expected at least 1", group);
  const Shape input = call.shape(0);
  if (!input) return call.give(0, call.dtype(0), std::nullopt);
  const size_t spatial = input->size() - 2;
  SLUICE_TRY(call.expect_rank(1, rank_of(*input)));
  SLUICE_ASSIGN(
      const Dim channels,
      call.unify(call.dim(0, 1), call.dim(1, 0),
                 fmt::format("channels of {} and {}", call.input_name(0), call.input_name(1))));
  SLUICE_TRY(call.expect_multiple(channels, group, "channels, in groups,"));
  Dims kernel(spatial, Dim::unknown());
  if (const Shape weights = call.shape(1)) kernel.assign(weights->begin() + 2, weights->end());
  if (call.node.has(attributes::Conv::kernel_shape)) {
    SLUICE_ASSIGN(const auto given, call.ints(attributes::Conv::kernel_shape, spatial, 1));
    for (size_t i = 0; i < spatial; ++i) {
      SLUICE_ASSIGN(kernel[i], call.unify(kernel[i], Dim::fixed(given[i]),
                                          "the kernel and attribute 'kernel_shape'"));
    }
  }
  SLUICE_ASSIGN(const Dims out, transposed_dims(call, std::span(*input).subspan(2), kernel));
  SLUICE_ASSIGN(const Dim outputs, call.unify(call.math.multiply(call.dim(1, 1), group),
                                              call.dim(2, 0), "output channels and the bias"));
  Dims dims{(*input)[0], outputs};
  dims.insert(dims.end(), out.begin(), out.end());
  return call.give(0, call.dtype(0), std::move(dims));
}

// Dtypes of matrix products. Narrow integers would overflow; they have MatMulInteger and
// QLinearMatMul.
constexpr uint32_t kWideSet =
    kFloatSet | dtype_set({DType::kI32, DType::kI64, DType::kU32, DType::kU64});

Result<void> infer_matmul(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kWideSet));
  SLUICE_TRY(call.expect_same_dtype(1, 0));
  SLUICE_ASSIGN(Shape shape, matmul_shape(call, 0, 1));
  return call.give(0, call.dtype(0), std::move(shape));
}

Result<void> infer_matmul_integer(InferCall& call) {
  constexpr uint32_t kBytes = dtype_set({DType::kU8, DType::kI8});
  SLUICE_TRY(call.expect_dtype(0, kBytes));
  SLUICE_TRY(call.expect_dtype(1, kBytes));
  SLUICE_TRY(call.expect_same_dtype(2, 0));
  SLUICE_TRY(call.expect_same_dtype(3, 1));
  SLUICE_ASSIGN(Shape shape, matmul_shape(call, 0, 1));
  return call.give(0, DType::kI32, std::move(shape));
}

Result<void> infer_gemm(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kWideSet));
  SLUICE_TRY(call.expect_same_dtype(1, 0));
  SLUICE_TRY(call.expect_same_dtype(2, 0));
  SLUICE_TRY(call.expect_rank(0, 2));
  SLUICE_TRY(call.expect_rank(1, 2));
  SLUICE_TRY(call.expect_rank(2, 0, 2));
  const size_t a = call.node.get(attributes::Gemm::transA) != 0 ? 1 : 0;
  const size_t b = call.node.get(attributes::Gemm::transB) != 0 ? 1 : 0;
  SLUICE_TRY(
      call.unify(call.dim(0, 1 - a), call.dim(1, b),
                 fmt::format("inner dims of {} and {}", call.input_name(0), call.input_name(1))));
  const Shape product = Dims{call.dim(0, a), call.dim(1, 1 - b)};
  if (call.shape(2)) {
    SLUICE_ASSIGN(const Shape sum, call.broadcast(product, call.shape(2)));
    SLUICE_TRY(call.unify(product, sum,
                          fmt::format("the product and {} spread to it", call.input_name(2))));
  }
  return call.give(0, call.dtype(0), product);
}

constexpr OpRow kContractionRows[] = {
    {Op::kConv, 2, 3, 1, 1, 0, attribute_rows::Conv, infer_conv},
    {Op::kConvInteger, 2, 4, 1, 1, 0, attribute_rows::Conv, infer_conv_integer},
    {Op::kConvTranspose, 2, 3, 1, 1, 0, attribute_rows::ConvTranspose, infer_conv_transpose},
    {Op::kGemm, 2, 3, 1, 1, 0, attribute_rows::Gemm, infer_gemm},
    {Op::kMatMul, 2, 2, 1, 1, 0, {}, infer_matmul},
    {Op::kMatMulInteger, 2, 4, 1, 1, 0, {}, infer_matmul_integer},
};

}  // namespace

std::span<const OpRow> contraction_rows() { return kContractionRows; }

}  // namespace sluice
