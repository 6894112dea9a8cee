#include "common/loop/scalar_value.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "common/base/half.h"
#include "common/loop/loop_graph.h"

namespace sluice::loop {
namespace {

using Operands = std::array<uint64_t, 3>;

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T>
T float_of(uint64_t value) {
  return std::bit_cast<T>(static_cast<BitsOf<T>>(value));
}

template <typename T>
uint64_t bits_of(T value) {
  return std::bit_cast<BitsOf<T>>(value);
}

bool is_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

// ---- floats

template <typename T>
T float_floor_mod(T a, T b) {  // the sign of b
  const T remainder = std::fmod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

template <typename T>
T float_sign(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x;
}

// Operators that return a float.
template <typename T>
T compute_float(ScalarOp op, T a, T b) {
  switch (op) {
    case ScalarOp::kAdd:
      return a + b;
    case ScalarOp::kSub:
      return a - b;
    case ScalarOp::kMul:
      return a * b;
    case ScalarOp::kDiv:
      return a / b;
    case ScalarOp::kFloorMod:
      return float_floor_mod(a, b);
    case ScalarOp::kRemainder:
      return std::fmod(a, b);
    case ScalarOp::kMax:
      return a > b || a != a ? a : b;
    case ScalarOp::kMin:
      return a < b || a != a ? a : b;
    case ScalarOp::kNeg:
      return -a;
    case ScalarOp::kAbs:
      return std::abs(a);
    case ScalarOp::kSign:
      return float_sign(a);
    case ScalarOp::kPow:
      return std::pow(a, b);
    case ScalarOp::kSqrt:
      return std::sqrt(a);
    case ScalarOp::kReciprocal:
      return T(1) / a;
    case ScalarOp::kFloor:
      return std::floor(a);
    case ScalarOp::kCeil:
      return std::ceil(a);
    case ScalarOp::kRound:
      return std::nearbyint(a);
    case ScalarOp::kExp:
      return std::exp(a);
    case ScalarOp::kExpm1:
      return std::expm1(a);
    case ScalarOp::kLog:
      return std::log(a);
    case ScalarOp::kLog1p:
      return std::log1p(a);
    case ScalarOp::kSin:
      return std::sin(a);
    case ScalarOp::kCos:
      return std::cos(a);
    case ScalarOp::kTan:
      return std::tan(a);
    case ScalarOp::kAsin:
      return std::asin(a);
    case ScalarOp::kAcos:
      return std::acos(a);
    case ScalarOp::kAtan:
      return std::atan(a);
    case ScalarOp::kSinh:
      return std::sinh(a);
    case ScalarOp::kCosh:
      return std::cosh(a);
    case ScalarOp::kTanh:
      return std::tanh(a);
    case ScalarOp::kAsinh:
      return std::asinh(a);
    case ScalarOp::kAcosh:
      return std::acosh(a);
    case ScalarOp::kAtanh:
      return std::atanh(a);
    case ScalarOp::kErf:
      return std::erf(a);
    case ScalarOp::kSigmoid:
      return T(1) / (T(1) + std::exp(-a));
    case ScalarOp::kRoundToHalf:
      return half_to_float(float_to_half(static_cast<float>(a)));
    case ScalarOp::kRoundToBfloat:
      return bf16_to_float(float_to_bf16(static_cast<float>(a)));
    default:
      return std::numeric_limits<T>::quiet_NaN();  // no operator of floats: verify refuses it
  }
}

// ---- integers, in 64 bits: the caller takes the result modulo 2^bits

uint64_t truncated(DType dtype, uint64_t value) {
  const int bits = number_bits(dtype);
  return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

// Returns a value as an i64: signed ones are extended by their sign.
int64_t integer_of(DType dtype, uint64_t value) {
  if (!dtype_is_signed(dtype)) return static_cast<int64_t>(value);
  const int spare = 64 - number_bits(dtype);
  return static_cast<int64_t>(value << spare) >> spare;
}

// T is int64_t or uint64_t. Divisions by 0 and by -1 are handled by the caller.
template <typename T>
T divide(ScalarOp op, T a, T b) {
  if (op == ScalarOp::kDiv) return a / b;
  const T remainder = a % b;
  if (op == ScalarOp::kRemainder) return remainder;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

template <typename T>
uint64_t compute_division(ScalarOp op, T a, T b, bool& fault) {
  if (b == 0) {
    fault = true;
    return 0;
  }
  if (std::is_signed_v<T> && b == static_cast<T>(-1))
    return op == ScalarOp::kDiv ? uint64_t{0} - static_cast<uint64_t>(a) : 0;
  return static_cast<uint64_t>(divide(op, a, b));
}

// Shifts by the width or more give 0. Signed integers are shifted right with their sign.
template <typename T>
uint64_t shift(ScalarOp op, T a, uint64_t amount, int width) {
  if (amount >= static_cast<uint64_t>(width)) return 0;
  if (op == ScalarOp::kShiftLeft) return static_cast<uint64_t>(a) << amount;
  return static_cast<uint64_t>(a >> amount);
}

// T is int64_t, or uint64_t for unsigned dtypes.
template <typename T>
uint64_t compute_integer(ScalarOp op, T a, T b, int width, bool& fault) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case ScalarOp::kAdd:
      return x + y;
    case ScalarOp::kSub:
      return x - y;
    case ScalarOp::kMul:
      return x * y;
    case ScalarOp::kDiv:
    case ScalarOp::kFloorMod:
    case ScalarOp::kRemainder:
      return compute_division(op, a, b, fault);
    case ScalarOp::kMax:
      return a > b ? x : y;
    case ScalarOp::kMin:
      return a < b ? x : y;
    case ScalarOp::kNeg:
      return uint64_t{0} - x;
    case ScalarOp::kAbs:
      return a < 0 ? uint64_t{0} - x : x;
    case ScalarOp::kSign:
      return a > 0 ? 1 : a < 0 ? ~uint64_t{0} : 0;
    case ScalarOp::kAnd:
      return x & y;
    case ScalarOp::kOr:
      return x | y;
    case ScalarOp::kXor:
      return x ^ y;
    case ScalarOp::kNot:
      return ~x;
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
      return shift(op, a, y, width);
    default:
      return 0;  // no operator of integers: verify refuses it
  }
}

uint64_t checked_index(int64_t index, int64_t count, bool& fault) {
  if (index < 0) index += count;
  if (index >= 0 && index < count) return static_cast<uint64_t>(index);
  fault = true;
  return index < 0 || count <= 0 ? 0 : static_cast<uint64_t>(count - 1);
}

// ---- comparisons

template <typename T>
bool compare(ScalarOp op, T a, T b) {
  if (op == ScalarOp::kLess) return a < b;
  return op == ScalarOp::kLessOrEqual ? a <= b : a == b;
}

bool compare_values(ScalarOp op, DType dtype, uint64_t a, uint64_t b) {
  if (dtype == DType::kF32) return compare(op, float_of<float>(a), float_of<float>(b));
  if (dtype == DType::kF64) return compare(op, float_of<double>(a), float_of<double>(b));
  if (!dtype_is_signed(dtype)) return compare(op, a, b);
  return compare(op, integer_of(dtype, a), integer_of(dtype, b));
}

// ---- conversions, as in common/eval/number.h

// Truncates; NaN and numbers out of range give the lowest i64, or i32 for an i32.
int64_t integer_from_float(DType to, double value) {
  if (to == DType::kU64 && value >= 0x1p63 && value < 0x1p64)
    return static_cast<int64_t>(static_cast<uint64_t>(value));
  if (to == DType::kI32)
    return value > -2147483649.0 && value < 2147483648.0 ? static_cast<int64_t>(value)
                                                         : std::numeric_limits<int32_t>::min();
  return value >= -0x1p63 && value < 0x1p63 ? static_cast<int64_t>(value)
                                            : std::numeric_limits<int64_t>::min();
}

template <typename T>
T float_from(DType from, uint64_t value) {
  if (from == DType::kF32) return static_cast<T>(float_of<float>(value));
  if (from == DType::kF64) return static_cast<T>(float_of<double>(value));
  return dtype_is_signed(from) ? static_cast<T>(integer_of(from, value)) : static_cast<T>(value);
}

uint64_t convert(DType from, DType to, uint64_t value) {
  if (to == DType::kF32) return bits_of(float_from<float>(from, value));
  if (to == DType::kF64) return bits_of(float_from<double>(from, value));
  if (to == DType::kBool) return is_float(from) ? float_from<double>(from, value) != 0 : value != 0;
  const int64_t integer = is_float(from) ? integer_from_float(to, float_from<double>(from, value))
                                         : integer_of(from, value);
  return truncated(to, static_cast<uint64_t>(integer));
}

uint64_t compute_number(ScalarOp op, DType dtype, const Operands& x, bool& fault) {
  if (dtype == DType::kF32)
    return bits_of(compute_float(op, float_of<float>(x[0]), float_of<float>(x[1])));
  if (dtype == DType::kF64)
    return bits_of(compute_float(op, float_of<double>(x[0]), float_of<double>(x[1])));
  const int width = number_bits(dtype);
  if (!dtype_is_signed(dtype))
    return truncated(dtype, compute_integer(op, x[0], x[1], width, fault));
  return truncated(
      dtype, compute_integer(op, integer_of(dtype, x[0]), integer_of(dtype, x[1]), width, fault));
}

}  // namespace

uint64_t compute_scalar(ScalarOp op, DType from, DType to, const Operands& operands, bool& fault) {
  switch (op) {
    case ScalarOp::kLess:
    case ScalarOp::kLessOrEqual:
    case ScalarOp::kEqual:
      return compare_values(op, from, operands[0], operands[1]);
    case ScalarOp::kSelect:
      return operands[0] != 0 ? operands[1] : operands[2];
    case ScalarOp::kCast:
      return convert(from, to, operands[0]);
    case ScalarOp::kBitCast:
      return operands[0];
    case ScalarOp::kCheckIndex:
      return checked_index(static_cast<int64_t>(operands[0]), static_cast<int64_t>(operands[1]),
                           fault);
    default:
      return compute_number(op, from, operands, fault);
  }
}

uint64_t load_value(DType dtype, const std::byte* element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, static_cast<size_t>(access_bits(dtype)) / 8);
  if (dtype == DType::kF16) return bits_of(half_to_float(static_cast<uint16_t>(bits)));
  if (dtype == DType::kBF16) return bits_of(bf16_to_float(static_cast<uint16_t>(bits)));
  return dtype == DType::kBool ? bits != 0 : bits;
}

void store_value(DType dtype, uint64_t value, std::byte* element) {
  if (dtype == DType::kF16) value = float_to_half(float_of<float>(value));
  if (dtype == DType::kBF16) value = float_to_bf16(float_of<float>(value));
  std::memcpy(element, &value, static_cast<size_t>(access_bits(dtype)) / 8);
}

}  // namespace sluice::loop
