// Conversions between real numbers and integers of few bits.
#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/window.h"

namespace sluice {
namespace {

bool is_one_number(const Shape& shape) {
  return shape && (shape->empty() || (shape->size() == 1 && shape->front() == Dim::fixed(1)));
}

// Checks scale (and zero point) of input 0: one number, one per index of an axis, or one per block
// along it. Exporters use both [] and [1].
Result<void> check_scale(InferCall& call) {
  for (const size_t i : {0, 1, 2}) SLUICE_TRY(call.expect_dtype(i, kRealSet));
  const Shape input = call.shape(0);
  const Shape scale = call.shape(1);
  const Shape zero = call.has_input(2) ? call.shape(2) : std::nullopt;
  if (is_one_number(scale) && is_one_number(zero)) return {};
  SLUICE_TRY(call.unify(zero, scale, "shapes of zero point and scale"));
  if (!input || !scale || is_one_number(scale)) return {};
  SLUICE_ASSIGN(const int64_t axis,
                call.axis_attribute(attributes::DequantizeLinear::axis, rank_of(*input)));
  const auto index = static_cast<size_t>(axis);
  const int64_t block = call.node.get(attributes::DequantizeLinear::block_size);
  if (block < 0) return call.bad_node("attribute 'block_size' is {}", block);
  if (block == 0) {
    SLUICE_TRY(call.expect_rank(1, 1));
    SLUICE_TRY(call.unify((*input)[index], scale->front(),
                          fmt::format("dim {} of {} and scales", axis, call.input_name(0))));
    return {};
  }
  SLUICE_TRY(call.expect_rank(1, rank_of(*input)));
  for (size_t i = 0; i < input->size(); ++i) {
    const Dim wanted = i == index ? call.math.ceil_divide((*input)[i], block) : (*input)[i];
    SLUICE_TRY(call.unify(wanted, (*scale)[i], "blocks of the input and scales"));
  }
  return {};
}

Result<void> infer_quantize(InferCall& call) {
  SLUICE_TRY(check_scale(call));
  const int64_t named = call.node.get(attributes::DequantizeLinear::output_dtype);
  if (named < 0 || named > INT32_MAX || (named != 0 && !dtype_is_valid(static_cast<int>(named))))
    return call.bad_node("attribute 'output_dtype' is {}", named);
  DType dtype = call.has_input(2) ? call.dtype(2) : DType::kU8;
  if (named != 0) dtype = static_cast<DType>(named);
  if (call.has_input(2) && named != 0 && call.dtype(2) != DType::kUndefined &&
      call.dtype(2) != dtype) {
    return call.bad_node("attribute 'output_dtype' is {}, but {} is {}", dtype_name(dtype),
                         call.input_name(2), dtype_name(call.dtype(2)));
  }
  return call.give(0, dtype, call.shape(0));
}

Result<void> infer_dequantize(InferCall& call) {
  SLUICE_TRY(check_scale(call));
  SLUICE_TRY(call.expect_same_dtype(2, 0));
  const int64_t named = call.node.get(attributes::DequantizeLinear::output_dtype);
  if (named < 0 || named > INT32_MAX || (named != 0 && !dtype_is_valid(static_cast<int>(named))))
    return call.bad_node("attribute 'output_dtype' is {}", named);
  return call.give(0, named != 0 ? static_cast<DType>(named) : call.dtype(1), call.shape(0));
}

Result<void> infer_dynamic_quantize(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, dtype_set({DType::kF32})));
  SLUICE_TRY(call.give(0, DType::kU8, call.shape(0)));
  SLUICE_TRY(call.give(1, DType::kF32, Dims{}));
  return call.give(2, DType::kU8, Dims{});
}

// Of both operands and the result: numbers, a scale and a zero point. The operands' zero points
// have their dtypes; that of the result says its dtype.
Result<void> check_qlinear_dtypes(InferCall& call) {
  for (size_t i = 0; i < 8; ++i) SLUICE_TRY(call.expect_dtype(i, kRealSet));
  SLUICE_TRY(call.expect_same_dtype(2, 0));
  return call.expect_same_dtype(5, 3);
}

// A scale that a product of quantized tensors has for each row or column, or one for all.
Result<void> check_scale_of(InferCall& call, size_t scale, const Dim& lines,
                            std::string_view what) {
  const Shape shape = call.shape(scale);
  if (!shape || shape->size() != 1 || shape->front() == Dim::fixed(1)) return {};
  SLUICE_TRY(call.unify(lines, shape->front(), what));
  return {};
}

// Infers x, x scale, x zero point, w, w scale, w zero point, y scale, y zero point, bias.
Result<void> infer_qlinear_conv(InferCall& call) {
  SLUICE_TRY(check_qlinear_dtypes(call));
  SLUICE_TRY(call.expect_dtype(8, dtype_set({DType::kI32})));
  SLUICE_ASSIGN(Shape shape, convolution_shape(call, 0, 3));
  SLUICE_TRY(call.expect_rank(8, 1));
  for (const size_t i : {4, 5}) {
    SLUICE_TRY(check_scale_of(call, i, call.dim(3, 0), "output channels and scales"));
  }
  if (shape) {
    SLUICE_ASSIGN((*shape)[1],
                  call.unify((*shape)[1], call.dim(8, 0), "output channels and the bias"));
  }
  return call.give(0, call.dtype(7), std::move(shape));
}

// Infers a, a scale, a zero point, b, b scale, b zero point, y scale, y zero point.
Result<void> infer_qlinear_matmul(InferCall& call) {
  SLUICE_TRY(check_qlinear_dtypes(call));
  SLUICE_ASSIGN(Shape shape, matmul_shape(call, 0, 3));
  const Shape a = call.shape(0), b = call.shape(3);
  for (const size_t i : {1, 2}) {
    if (!a || a->size() < 2) break;
    SLUICE_TRY(check_scale_of(call, i, (*a)[a->size() - 2], "rows and scales or zero points"));
  }
  for (const size_t i : {4, 5}) {
    if (!b || b->size() < 2) break;
    SLUICE_TRY(check_scale_of(call, i, b->back(), "columns and scales or zero points"));
  }
  return call.give(0, call.dtype(7), std::move(shape));
}

constexpr OpRow kQuantizationRows[] = {
    {Op::kDequantizeLinear, 2, 3, 1, 1, 0, attribute_rows::DequantizeLinear, infer_dequantize},
    {Op::kDynamicQuantizeLinear, 1, 1, 3, 3, 0, {}, infer_dynamic_quantize},
    {Op::kQLinearConv, 8, 9, 1, 1, 0, attribute_rows::Conv, infer_qlinear_conv},
    {Op::kQLinearMatMul, 8, 8, 1, 1, 0, {}, infer_qlinear_matmul},
    {Op::kQuantizeLinear, 2, 3, 1, 1, 0, attribute_rows::QuantizeLinear, infer_quantize},
};

}  // namespace

std::span<const OpRow> quantization_rows() { return kQuantizationRows; }

}  // namespace sluice
