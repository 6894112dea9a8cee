#include "orchestrator/conformance/elements.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice {
namespace {

// A binary float with a sign bit. The small formats differ in the meaning of the largest exponent.
struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  enum Top {
    kIeee,
    kNanOnly,
    kNumbers
  } top;  // kIeee: infinity and NaN; kNanOnly: NaN when all bits are set
  bool negative_zero_is_nan = false;
};

double decode(uint32_t bits, const FloatFormat& format) {
  const uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const uint32_t exponent = (bits >> format.mantissa_bits) & ((1u << format.exponent_bits) - 1);
  const uint32_t sign = (bits >> (format.mantissa_bits + format.exponent_bits)) & 1;
  const uint32_t top = (1u << format.exponent_bits) - 1, full = (1u << format.mantissa_bits) - 1;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                   kInfinity = std::numeric_limits<double>::infinity();
  double value = exponent == 0
                     ? std::ldexp(mantissa, 1 - format.bias - format.mantissa_bits)
                     : std::ldexp(mantissa + full + 1.0,
                                  static_cast<int>(exponent) - format.bias - format.mantissa_bits);
  if (format.negative_zero_is_nan && sign == 1 && exponent == 0 && mantissa == 0) return kNan;
  if (exponent == top && format.top == FloatFormat::kIeee) value = mantissa == 0 ? kInfinity : kNan;
  if (exponent == top && format.top == FloatFormat::kNanOnly && mantissa == full) value = kNan;
  return sign == 1 ? -value : value;
}

constexpr FloatFormat kF16Format{5, 10, 15, FloatFormat::kIeee},
    kBF16Format{8, 7, 127, FloatFormat::kIeee}, kE4M3FN{4, 3, 7, FloatFormat::kNanOnly},
    kE4M3FNUZ{4, 3, 8, FloatFormat::kNumbers, true}, kE5M2{5, 2, 15, FloatFormat::kIeee},
    kE5M2FNUZ{5, 2, 16, FloatFormat::kNumbers, true}, kE2M1{2, 1, 1, FloatFormat::kNumbers};

template <typename T>
std::vector<double> numbers(const Tensor& tensor) {
  const auto elements = tensor.as<T>();
  return {elements.begin(), elements.end()};
}

template <typename T>
std::vector<double> decoded(const Tensor& tensor, const FloatFormat& format) {
  std::vector<double> values;
  for (const T bits : tensor.as<T>()) values.push_back(decode(bits, format));
  return values;
}

std::vector<double> unpacked(const Tensor& tensor) {
  const int bits = dtype_bits(tensor.dtype);
  const uint32_t mask = (1u << bits) - 1;
  std::vector<double> values(*element_count(tensor.dims));
  for (uint64_t i = 0; i < values.size(); ++i) {
    const uint32_t raw =
        (static_cast<uint32_t>(tensor.bytes[i * bits / 8]) >> (i * bits % 8)) & mask;
    const bool negative = dtype_is_signed(tensor.dtype) && (raw >> (bits - 1)) == 1;
    values[i] = tensor.dtype == DType::kF4E2M1
                    ? decode(raw, kE2M1)
                    : static_cast<double>(raw) - (negative ? mask + 1.0 : 0.0);
  }
  return values;
}

double decode_scale(uint8_t bits) {
  return bits == 0xff ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
}

}  // namespace

std::vector<double> elements_as_double(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::kF32:
    case DType::kC64:
      return numbers<float>(tensor);
    case DType::kF64:
    case DType::kC128:
      return numbers<double>(tensor);
    case DType::kF16:
      return decoded<uint16_t>(tensor, kF16Format);
    case DType::kBF16:
      return decoded<uint16_t>(tensor, kBF16Format);
    case DType::kF8E4M3FN:
      return decoded<uint8_t>(tensor, kE4M3FN);
    case DType::kF8E4M3FNUZ:
      return decoded<uint8_t>(tensor, kE4M3FNUZ);
    case DType::kF8E5M2:
      return decoded<uint8_t>(tensor, kE5M2);
    case DType::kF8E5M2FNUZ:
      return decoded<uint8_t>(tensor, kE5M2FNUZ);
    case DType::kI8:
      return numbers<int8_t>(tensor);
    case DType::kI16:
      return numbers<int16_t>(tensor);
    case DType::kI32:
      return numbers<int32_t>(tensor);
    case DType::kI64:
      return numbers<int64_t>(tensor);
    case DType::kU16:
      return numbers<uint16_t>(tensor);
    case DType::kU32:
      return numbers<uint32_t>(tensor);
    case DType::kU64:
      return numbers<uint64_t>(tensor);
    case DType::kU8:
    case DType::kBool:
      return numbers<uint8_t>(tensor);
    case DType::kF8E8M0: {
      std::vector<double> values;
      for (const uint8_t bits : tensor.as<uint8_t>()) values.push_back(decode_scale(bits));
      return values;
    }
    default:
      return unpacked(tensor);
  }
}

double unit_in_last_place(DType dtype, double x) {
  struct Row {
    DType dtype;
    int mantissa_bits, min_exponent;
  };
  constexpr Row kRows[] = {
      {DType::kF64, 52, -1022},     {DType::kC128, 52, -1022},   {DType::kF32, 23, -126},
      {DType::kC64, 23, -126},      {DType::kF16, 10, -14},      {DType::kBF16, 7, -126},
      {DType::kF8E4M3FN, 3, -6},    {DType::kF8E4M3FNUZ, 3, -7}, {DType::kF8E5M2, 2, -14},
      {DType::kF8E5M2FNUZ, 2, -15}, {DType::kF4E2M1, 1, 0},
  };
  for (const Row& row : kRows) {
    if (row.dtype != dtype) continue;
    const int exponent = x == 0 ? row.min_exponent : std::max(std::ilogb(x), row.min_exponent);
    return std::ldexp(1.0, exponent - row.mantissa_bits);
  }
  return 0;
}

}  // namespace sluice
