// Conversions between real numbers and integers or 8-bit floats, and products of quantized tensors.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/eval/axes.h"
#include "common/eval/conv.h"
#include "common/eval/kernels.h"
#include "common/eval/matrix.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"
#include "common/ops/quantization.h"

namespace sluice::eval {
namespace {

struct Range {
  double low = 0;
  double high = 0;
};

Range integer_range(DType dtype) {
  const int bits = dtype_bits(dtype);
  if (dtype_is_signed(dtype)) return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
  return {0, std::ldexp(1.0, bits) - 1};
}

// Maps element `at` of x to its scale: one for all, one for each index of an axis, or one for each
// block along it.
struct ScaleMap {
  int64_t inner = 1;
  int64_t count = 1;
  int64_t block = 1;
  int64_t blocks = 1;
  bool single = true;
  bool by_block = false;

  // Returns the number of elements from `at` on that share its scale.
  int64_t run(int64_t at, int64_t end) const {
    if (single) return end - at;
    return by_block ? 1 : inner - at % inner;
  }

  size_t index(int64_t at) const {
    if (single) return 0;
    const int64_t along = at / inner % count;
    if (!by_block) return static_cast<size_t>(along);
    return static_cast<size_t>((at / (inner * count) * blocks + along / block) * inner +
                               at % inner);
  }
};

Result<ScaleMap> make_scale_map(const EvalCall& call) {
  const Input& x = call.input(0);
  const Input& scale = call.input(1);
  ScaleMap map;
  if (call.has(2) && call.input(2).count != scale.count)
    return call.bad_shape("scale and zero point have different shapes");
  const int64_t block = call.node.get(attributes::DequantizeLinear::block_size);
  if (scale.count == 1 && block == 0) return map;
  SLUICE_ASSIGN(const int64_t axis,
                call.axis(call.node.get(attributes::DequantizeLinear::axis), x.rank()));
  const AxisSplit split(x.dims, axis);
  map.single = false;
  map.inner = split.inner;
  map.count = split.count;
  if (block == 0 && scale.rank() <= 1) {
    if (scale.count != split.count)
      return call.bad_shape("{} scales for an axis of {}", scale.count, split.count);
    return map;
  }
  if (scale.rank() != x.rank() || scale.dims[static_cast<size_t>(axis)] < 1)
    return call.bad_shape("scales {} do not fit the input {}", dims_text(scale.dims),
                          dims_text(x.dims));
  map.by_block = true;
  map.blocks = scale.dims[static_cast<size_t>(axis)];
  map.block = block > 0 ? block : (split.count + map.blocks - 1) / map.blocks;
  if (map.block * map.blocks < split.count || scale.count != split.outer * map.blocks * split.inner)
    return call.bad_shape("scales {} do not fit the input {}", dims_text(scale.dims),
                          dims_text(x.dims));
  return map;
}

double rounded_to(DType dtype, double value) {
  uint16_t bits = 0;
  store_doubles(dtype, reinterpret_cast<std::byte*>(&bits), 0, 1, &value);
  load_doubles(dtype, reinterpret_cast<const std::byte*>(&bits), 0, 1, &value);
  return value;
}

double quantized(double ratio, double zero, const Range& range) {
  return std::clamp(std::nearbyint(ratio) + zero, range.low, range.high);
}

// Does the same as the function below for the dtypes of quantized models, in floats: their
// integers, differences and quotients are exact in floats, or rounded as in float32.
template <typename T>
void quantize_run(const float* x, int64_t count, float scale, float zero, const Range& range,
                  T* y) {
  const float low = static_cast<float>(range.low) - zero,
              high = static_cast<float>(range.high) - zero;
  // 1.5 * 2^23: adding it leaves an integer, rounded half to even.
  constexpr float kRounds = 12582912.0f;
  for (int64_t i = 0; i < count; ++i) {
    float ratio = x[i] / scale;
    if (!(ratio > low)) ratio = std::isnan(ratio) ? 0.0f : low;
    if (ratio > high) ratio = high;
    y[i] = static_cast<T>(static_cast<int32_t>(ratio + kRounds - kRounds + zero));
  }
}

template <typename T>
void dequantize_run(const T* x, int64_t count, float scale, float zero, float* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = (static_cast<float>(x[i]) - zero) * scale;
}

bool quantize_bytes(const Input& x, const ScaleMap& map, const std::vector<double>& scales,
                    const std::vector<double>& zeros, const Range& range, const Output& y) {
  const bool is_byte = y.dtype == DType::kI8 || y.dtype == DType::kU8;
  if (x.dtype != DType::kF32 || !is_byte) return false;
  for (int64_t at = 0; at < x.count;) {
    const int64_t count = std::min(map.run(at, x.count), x.count - at);
    const float scale = static_cast<float>(scales[map.index(at)]),
                zero = static_cast<float>(zeros[map.index(at)]);
    if (y.dtype == DType::kI8)
      quantize_run(x.as<float>() + at, count, scale, zero, range, y.as<int8_t>() + at);
    if (y.dtype == DType::kU8)
      quantize_run(x.as<float>() + at, count, scale, zero, range, y.as<uint8_t>() + at);
    at += count;
  }
  return true;
}

bool dequantize_bytes(const Input& x, const ScaleMap& map, const std::vector<double>& scales,
                      const std::vector<double>& zeros, const Output& y) {
  const bool is_byte = x.dtype == DType::kI8 || x.dtype == DType::kU8;
  if (!is_byte || y.dtype != DType::kF32) return false;
  for (int64_t at = 0; at < x.count;) {
    const int64_t count = std::min(map.run(at, x.count), x.count - at);
    const float scale = static_cast<float>(scales[map.index(at)]),
                zero = zeros.empty() ? 0 : static_cast<float>(zeros[map.index(at)]);
    if (x.dtype == DType::kI8)
      dequantize_run(x.as<int8_t>() + at, count, scale, zero, y.as<float>() + at);
    if (x.dtype == DType::kU8)
      dequantize_run(x.as<uint8_t>() + at, count, scale, zero, y.as<float>() + at);
    at += count;
  }
  return true;
}

// Computes x - zero point (per element, or per index of `axis`), as i32.
std::vector<int32_t> centered(const Input& x, const Input& zero, int64_t axis) {
  std::vector<int64_t> values(static_cast<size_t>(x.count));
  load_ints(x.dtype, x.data, 0, x.count, values.data());
  std::vector<int64_t> zeros(static_cast<size_t>(std::max<int64_t>(zero.count, 1)), 0);
  if (zero.count > 0) load_ints(zero.dtype, zero.data, 0, zero.count, zeros.data());
  const int64_t inner =
      x.rank() > 0 && axis < x.rank() ? product(x.dims.subspan(static_cast<size_t>(axis) + 1)) : 1;
  std::vector<int32_t> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t line =
        zeros.size() == 1 ? 0 : static_cast<size_t>(static_cast<int64_t>(i) / inner) % zeros.size();
    result[i] = static_cast<int32_t>(values[i] - zeros[line]);
  }
  return result;
}

std::vector<int32_t> product_of(const MatMulShape& shape, const std::vector<int32_t>& a,
                                const std::vector<int32_t>& b) {
  std::vector<int32_t> y(static_cast<size_t>(product(shape.batch) * shape.m * shape.n), 0);
  for_each_matrix(shape, [&](int64_t at_a, int64_t at_b, int64_t at_y) {
    multiply_add(shape.m, shape.k, shape.n,
                 reinterpret_cast<const uint32_t*>(a.data()) + at_a * shape.m * shape.k, shape.k,
                 reinterpret_cast<const uint32_t*>(b.data()) + at_b * shape.k * shape.n, shape.n,
                 reinterpret_cast<uint32_t*>(y.data()) + at_y * shape.m * shape.n, shape.n);
  });
  return y;
}

// Computes y = round(sum * scale / y_scale) + y_zero; the weights have one scale, or one per index
// of `axis` (inner elements each).
Result<void> requantize(EvalCall& call, const std::vector<int32_t>& sums,
                        const std::vector<int64_t>& dims, const Input& a_scale,
                        const Input& b_scale, int64_t inner, const Input& y_scale, size_t y_zero) {
  SLUICE_ASSIGN(const Output y, call.output_like(0, y_zero, dims));
  const auto scale_a = doubles_of(a_scale);
  const auto scale_b = doubles_of(b_scale);
  const auto scale_y = doubles_of(y_scale);
  const double zero = call.number(y_zero, 0);
  if (scale_a.size() != 1 || scale_b.empty() || scale_y.size() != 1)
    return call.unsupported(std::string("scales per row"));
  if (dtype_is_float(y.dtype)) return call.unsupported(y.dtype);
  const Range range = integer_range(y.dtype);
  for (size_t i = 0; i < sums.size(); ++i) {
    const double scale =
        scale_a[0] * scale_b[static_cast<size_t>(static_cast<int64_t>(i) / inner) % scale_b.size()];
    const double value = quantized(static_cast<double>(sums[i]) * scale / scale_y[0], zero, range);
    store_doubles(y.dtype, y.data, static_cast<int64_t>(i), 1, &value);
  }
  return {};
}

std::vector<int32_t> convolved(const ConvShape& shape, const std::vector<int32_t>& x,
                               const std::vector<int32_t>& w) {
  std::vector<int32_t> y(static_cast<size_t>(product(shape.y)), 0);
  convolve<int32_t>(shape, x.data(), w.data(), 0, y.data());
  return y;
}

}  // namespace

// Quantizes. The quotient is rounded to float32, or to the dtype that ratio_dtype names.
Result<void> eval_quantize_linear(EvalCall& call) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const ScaleMap map, make_scale_map(call));
  const int64_t named = call.node.get(attributes::DequantizeLinear::output_dtype);
  const DType dtype = call.has(2)  ? call.input(2).dtype
                      : named != 0 ? static_cast<DType>(named)
                                   : DType::kU8;
  SLUICE_ASSIGN(const Output y, call.output(0, dtype, to_vector(x.dims)));
  const auto scales = doubles_of(call.input(1));
  std::vector<double> zeros = doubles_of(call.input(2));
  if (zeros.empty()) zeros.assign(scales.size(), 0);
  const bool floats = dtype_is_float(dtype);
  const Range range = floats ? Range{} : integer_range(dtype);
  if (quantize_bytes(x, map, scales, zeros, range, y)) return {};
  const DType precision = ratio_dtype(call.node);
  const Narrowing narrowing{.saturate = call.node.get(attributes::QuantizeLinear::saturate) != 0};
  for (int64_t at = 0; at < x.count; ++at) {
    double value = 0;
    load_doubles(x.dtype, x.data, at, 1, &value);
    const size_t index = map.index(at);
    double ratio =
        static_cast<double>(static_cast<float>(value) / static_cast<float>(scales[index]));
    if (precision != DType::kF32) ratio = rounded_to(precision, ratio);
    const double result = floats              ? ratio + zeros[index]
                          : std::isnan(ratio) ? zeros[index]
                                              : quantized(ratio, zeros[index], range);
    store_doubles(dtype, y.data, at, 1, &result, narrowing);
  }
  return {};
}

Result<void> eval_dequantize_linear(EvalCall& call) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const ScaleMap map, make_scale_map(call));
  const int64_t named = call.node.get(attributes::DequantizeLinear::output_dtype);
  SLUICE_ASSIGN(const Output y,
                call.output(0, named != 0 ? static_cast<DType>(named) : call.input(1).dtype,
                            to_vector(x.dims)));
  const auto scales = doubles_of(call.input(1));
  const auto zeros = doubles_of(call.input(2));
  if (dequantize_bytes(x, map, scales, zeros, y)) return {};
  for (int64_t at = 0; at < x.count; ++at) {
    double value = 0;
    load_doubles(x.dtype, x.data, at, 1, &value);
    const size_t index = map.index(at);
    const double result = (value - (zeros.empty() ? 0 : zeros[index])) * scales[index];
    store_doubles(y.dtype, y.data, at, 1, &result);
  }
  return {};
}

Result<void> eval_dynamic_quantize_linear(EvalCall& call) {
  const Input& x = call.input(0);
  if (x.dtype != DType::kF32) return call.unsupported(x.dtype);
  float low = 0, high = 0;
  for (int64_t i = 0; i < x.count; ++i) {
    low = std::min(low, x.as<float>()[i]);
    high = std::max(high, x.as<float>()[i]);
  }
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  const float zero = std::nearbyint(std::clamp(0.0f - low / scale, 0.0f, 255.0f));
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kU8, to_vector(x.dims)));
  SLUICE_ASSIGN(const Output y_scale, call.output(1, DType::kF32, {}));
  SLUICE_ASSIGN(const Output y_zero, call.output(2, DType::kU8, {}));
  for (int64_t i = 0; i < x.count; ++i) {
    const float value = std::nearbyint(x.as<float>()[i] / scale) + zero;
    y.as<uint8_t>()[i] = static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
  }
  y_scale.as<float>()[0] = scale;
  y_zero.as<uint8_t>()[0] = static_cast<uint8_t>(zero);
  return {};
}

Result<void> eval_matmul_integer(EvalCall& call) {
  const Input& a = call.input(0);
  const Input& b = call.input(1);
  SLUICE_ASSIGN(const MatMulShape shape, matmul_shape(call, a.dims, b.dims));
  const auto sums =
      product_of(shape, centered(a, call.input(2), std::max<int64_t>(a.rank() - 2, 0)),
                 centered(b, call.input(3), b.rank() - 1));
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kI32, shape.y));
  std::copy(sums.begin(), sums.end(), y.as<int32_t>());
  return {};
}

Result<void> eval_qlinear_matmul(EvalCall& call) {
  const Input& a = call.input(0);
  const Input& b = call.input(3);
  SLUICE_ASSIGN(const MatMulShape shape, matmul_shape(call, a.dims, b.dims));
  const auto sums =
      product_of(shape, centered(a, call.input(2), std::max<int64_t>(a.rank() - 2, 0)),
                 centered(b, call.input(5), b.rank() - 1));
  return requantize(call, sums, shape.y, call.input(1), call.input(4), 1, call.input(6), 7);
}

Result<void> eval_conv_integer(EvalCall& call) {
  SLUICE_ASSIGN(const ConvShape shape,
                make_conv_shape(call, call.input(0).dims, call.input(1).dims));
  const auto sums = convolved(shape, centered(call.input(0), call.input(2), 0),
                              centered(call.input(1), call.input(3), 0));
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kI32, shape.y));
  std::copy(sums.begin(), sums.end(), y.as<int32_t>());
  return {};
}

Result<void> eval_qlinear_conv(EvalCall& call) {
  SLUICE_ASSIGN(const ConvShape shape,
                make_conv_shape(call, call.input(0).dims, call.input(3).dims));
  auto sums = convolved(shape, centered(call.input(0), call.input(2), 0),
                        centered(call.input(3), call.input(5), 0));
  const int64_t positions = shape.window.out_size();
  const auto bias = call.ints(8);
  if (!bias.empty() && static_cast<int64_t>(bias.size()) != shape.filters)
    return call.bad_shape("{} biases for {} filters", bias.size(), shape.filters);
  for (size_t i = 0; !bias.empty() && i < sums.size(); ++i) {
    sums[i] += static_cast<int32_t>(
        bias[static_cast<size_t>(static_cast<int64_t>(i) / positions % shape.filters)]);
  }
  return requantize(call, sums, shape.y, call.input(1), call.input(4),
                    std::max<int64_t>(positions, 1), call.input(6), 7);
}

}  // namespace sluice::eval
