// The layouts of floats of at most 16 bits, E8M0 and bf16 apart, and how numbers become such.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "common/base/dtype.h"

namespace sluice {

// The conversion of a float that its target cannot represent. Only E8M0 has rounding directions.
struct Narrowing {
  bool saturate = true;  // 8-bit floats: the largest value instead of infinity or NaN
  enum class Mode : uint8_t { kUp, kDown, kNearest } mode = Mode::kUp;  // E8M0
};

struct FloatFormat {
  int mantissa;
  int bias;
  double largest;
  bool infinite;    // has infinities
  uint32_t nan;     // canonical NaN without sign
  bool signed_nan;  // NaN keeps a sign bit, and there is a negative zero
  int bits;
};

// Returns null for other dtypes.
inline const FloatFormat* small_float(DType dtype) {
  static constexpr FloatFormat kHalf{10, 15, 65504.0, true, 0x7e00, true, 16};
  static constexpr FloatFormat kE4M3FN{3, 7, 448.0, false, 0x7f, true, 8};
  static constexpr FloatFormat kE4M3FNUZ{3, 8, 240.0, false, 0x80, false, 8};
  static constexpr FloatFormat kE5M2{2, 15, 57344.0, true, 0x7f, true, 8};
  static constexpr FloatFormat kE5M2FNUZ{2, 16, 57344.0, false, 0x80, false, 8};
  static constexpr FloatFormat kE2M1{1, 1, 6.0, false, 0x8, true, 4};  // has no NaN: it becomes -0
  switch (dtype) {
    case DType::kF16:
      return &kHalf;
    case DType::kF8E4M3FN:
      return &kE4M3FN;
    case DType::kF8E4M3FNUZ:
      return &kE4M3FNUZ;
    case DType::kF8E5M2:
      return &kE5M2;
    case DType::kF8E5M2FNUZ:
      return &kE5M2FNUZ;
    case DType::kF4E2M1:
      return &kE2M1;
    default:
      return nullptr;
  }
}

// Returns exact powers of two, made from their exponent field.
inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// Returns the number that bits of the format are.
inline double float_of_bits(const FloatFormat& format, uint32_t bits) {
  const uint32_t sign_bit = 1u << (format.bits - 1);
  const uint32_t magnitude = bits & (sign_bit - 1);
  if (!format.signed_nan && bits == format.nan) return std::numeric_limits<double>::quiet_NaN();
  const double sign = (bits & sign_bit) != 0 ? -1.0 : 1.0;
  const int field = static_cast<int>(magnitude >> format.mantissa);
  const double fraction = magnitude & ((1u << format.mantissa) - 1);
  const double quantum = power_of_two(std::max(field, 1) - format.bias - format.mantissa);
  const double hidden = field == 0 ? 0.0 : static_cast<double>(1u << format.mantissa);
  const double value = (hidden + fraction) * quantum;
  if (value > format.largest) {  // the value maps to the codes above the largest value
    const bool infinity = format.infinite && fraction == 0;
    return sign * (infinity ? std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::quiet_NaN());
  }
  return sign * value;
}

}  // namespace sluice
