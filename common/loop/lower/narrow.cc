#include "common/loop/lower/narrow.h"

#include <bit>
#include <cmath>

#include "common/base/float_format.h"
#include "common/loop/lower/scalars.h"

namespace sluice::loop {
namespace {

// ---- the bits of f32 and f64

class WideBits {
 public:
  WideBits(Lowering& l, DType real)
      : l_(l), real_(real), dtype_(real == DType::kF64 ? DType::kU64 : DType::kU32) {}

  int width() const { return dtype_bits(dtype_); }
  int mantissa() const { return real_ == DType::kF64 ? 52 : 23; }
  int bias() const { return real_ == DType::kF64 ? 1023 : 127; }
  uint64_t infinity() const { return exponent(2 * bias() + 1); }
  Id nan() const { return number(infinity() + exponent(1) / 2); }
  // The bits of 2^(field - bias).
  uint64_t exponent(int field) const { return static_cast<uint64_t>(field) << mantissa(); }

  Id number(uint64_t value) const { return l_.integer(dtype_, static_cast<int64_t>(value)); }
  Id of(Id x) const { return l_.bit_cast(x, dtype_); }
  Id real(Id bits) const { return l_.bit_cast(bits, real_); }
  Id from_byte(Id byte) const { return l_.cast(byte, dtype_); }
  Id power_of_two(int exponent) const { return l_.real(real_, std::ldexp(1.0, exponent)); }
  Id both(Id a, uint64_t b) const { return l_.scalar(ScalarOp::kAnd, a, number(b)); }
  Id shifted(ScalarOp op, Id a, int amount) const {
    return l_.scalar(op, a, number(static_cast<uint64_t>(amount)));
  }
  Id is_above(Id a, uint64_t b) const { return l_.scalar(ScalarOp::kLess, number(b), a); }
  Id is_below(Id a, uint64_t b) const { return l_.scalar(ScalarOp::kLess, a, number(b)); }

 private:
  Lowering& l_;
  DType real_;
  DType dtype_;
};

// ---- floats of 8 and 4 bits

uint32_t sign_of(const FloatFormat& format) { return 1u << (format.bits - 1); }

uint32_t largest_bits(const FloatFormat& format) {
  const int exponent = std::ilogb(format.largest);
  const double steps = std::ldexp(format.largest, format.mantissa - exponent);
  return (static_cast<uint32_t>(exponent + format.bias - 1) << format.mantissa) +
         static_cast<uint32_t>(steps);
}

// NaN and infinity, which stand above the largest number, or where -0 would be.
Id with_special(Lowering& l, const FloatFormat& format, Id bits, Id magnitude, Id value,
                const WideBits& wide) {
  const Id nan = wide.nan();
  if (!format.signed_nan)
    return select(l, l.scalar(ScalarOp::kEqual, bits, l.integer(DType::kU8, format.nan)), nan,
                  value);
  const uint32_t largest = largest_bits(format);
  if (largest == sign_of(format) - 1) return value;
  const Id is_special = l.scalar(ScalarOp::kLess, l.integer(DType::kU8, largest), magnitude);
  if (!format.infinite) return select(l, is_special, nan, value);
  const Id is_infinite = l.scalar(ScalarOp::kEqual, magnitude, l.integer(DType::kU8, largest + 1));
  const Id special = select(l, is_infinite, wide.number(wide.infinity()), nan);
  return select(l, is_special, special, value);
}

Id widened_float(Lowering& l, const FloatFormat& format, Id bits, DType real) {
  const WideBits wide(l, real);
  const uint32_t sign = sign_of(format);
  const Id magnitude = l.scalar(ScalarOp::kAnd, bits, l.integer(DType::kU8, sign - 1));
  const Id moved = wide.shifted(ScalarOp::kShiftLeft, wide.from_byte(magnitude),
                                wide.mantissa() - format.mantissa);
  const Id normal = add(l, moved, wide.number(wide.exponent(wide.bias() - format.bias)));
  // Numbers below the least normal one count its last place.
  const Id small = wide.of(mul(l, l.cast(l.cast(magnitude, DType::kI32), real),
                               wide.power_of_two(1 - format.bias - format.mantissa)));
  const Id is_small =
      l.scalar(ScalarOp::kLess, magnitude, l.integer(DType::kU8, 1 << format.mantissa));
  const Id value =
      with_special(l, format, bits, magnitude, select(l, is_small, small, normal), wide);
  const Id own_sign = wide.shifted(ScalarOp::kShiftLeft, wide.both(wide.from_byte(bits), sign),
                                   wide.width() - format.bits);
  return wide.real(l.scalar(ScalarOp::kOr, value, own_sign));
}

// The magnitude of x in the narrow format, rounded half to even, as if its exponent had no limit.
Id rounded_magnitude(Lowering& l, const FloatFormat& format, Id magnitude, const WideBits& wide) {
  const int dropped = wide.mantissa() - format.mantissa;
  const Id odd = wide.both(wide.shifted(ScalarOp::kShiftRight, magnitude, dropped), 1);
  const uint64_t half = (uint64_t{1} << (dropped - 1)) - 1;
  const uint64_t offset = half - wide.exponent(wide.bias() - format.bias);
  const Id normal = wide.shifted(ScalarOp::kShiftRight,
                                 add(l, add(l, magnitude, wide.number(offset)), odd), dropped);
  // The sum's last place is that of the numbers below the least normal one.
  const int last_place = 1 - format.bias - format.mantissa;
  const Id large = wide.power_of_two(last_place + wide.mantissa());
  const Id small = sub(l, wide.of(add(l, wide.real(magnitude), large)), wide.of(large));
  return select(l, wide.is_below(magnitude, wide.exponent(wide.bias() + 1 - format.bias)), small,
                normal);
}

Id narrowed_float(Lowering& l, const FloatFormat& format, Id x, bool saturate) {
  const WideBits wide(l, l.dtype_of(x));
  const Id bits = wide.of(x);
  const Id magnitude = wide.both(bits, (uint64_t{1} << (wide.width() - 1)) - 1);
  Id sign = wide.both(wide.shifted(ScalarOp::kShiftRight, bits, wide.width() - format.bits),
                      sign_of(format));
  const Id found = rounded_magnitude(l, format, magnitude, wide);
  const uint32_t largest = largest_bits(format);
  const Id nan = wide.number(format.nan);
  Id result;
  if (saturate || format.bits == 4) {
    result = l.scalar(ScalarOp::kMin, found, wide.number(largest));
  } else {
    const Id beyond = format.infinite ? wide.number(largest + 1) : nan;
    result = select(l, wide.is_above(found, largest), beyond, found);
  }
  result = select(l, wide.is_above(magnitude, wide.infinity()), nan, result);
  if (!format.signed_nan) {  // 0 has no sign
    const Id zero = wide.number(0);
    sign = select(l, l.scalar(ScalarOp::kEqual, result, zero), zero, sign);
  }
  return l.cast(l.scalar(ScalarOp::kOr, result, sign), DType::kU8);
}

// ---- E8M0: powers of two, from 2^-127 on

constexpr int kE8M0Bias = 127, kE8M0Largest = 0xfe, kE8M0Nan = 0xff;

Id widened_e8m0(Lowering& l, Id bits, DType real) {
  const WideBits wide(l, real);
  const Id field =
      add(l, wide.from_byte(bits), wide.number(static_cast<uint64_t>(wide.bias() - kE8M0Bias)));
  Id value = wide.shifted(ScalarOp::kShiftLeft, field, wide.mantissa());
  const auto is = [&](int number) {
    return l.scalar(ScalarOp::kEqual, bits, l.integer(DType::kU8, number));
  };
  // The least one has no exponent field in f32.
  if (wide.bias() == kE8M0Bias) value = select(l, is(0), wide.number(wide.exponent(1) / 2), value);
  const Id nan = wide.nan();
  return wide.real(select(l, is(kE8M0Nan), nan, value));
}

// What is added to a mantissa of 2^mantissa steps so that the exponent goes up where it must.
uint64_t e8m0_carry(Narrowing::Mode mode, int mantissa) {
  if (mode == Narrowing::Mode::kDown) return 0;
  if (mode == Narrowing::Mode::kNearest) return uint64_t{1} << (mantissa - 1);
  return (uint64_t{1} << mantissa) - 1;
}

Id narrowed_e8m0(Lowering& l, Id x, const Narrowing& narrowing) {
  const WideBits wide(l, l.dtype_of(x));
  const Id magnitude = wide.both(wide.of(x), (uint64_t{1} << (wide.width() - 1)) - 1);
  Id carry = wide.number(e8m0_carry(narrowing.mode, wide.mantissa()));
  if (wide.bias() == kE8M0Bias) {  // numbers without an exponent field count half of the steps
    const Id small = wide.number(e8m0_carry(narrowing.mode, wide.mantissa() - 1));
    carry = select(l, wide.is_below(magnitude, wide.exponent(1)), small, carry);
  }
  const Id field = wide.shifted(ScalarOp::kShiftRight, add(l, magnitude, carry), wide.mantissa());
  const Id offset = wide.number(static_cast<uint64_t>(wide.bias() - kE8M0Bias));
  Id result = sub(l, l.scalar(ScalarOp::kMax, field, offset), offset);
  result =
      l.scalar(ScalarOp::kMin, result, wide.number(narrowing.saturate ? kE8M0Largest : kE8M0Nan));
  result = select(l, wide.is_above(magnitude, wide.infinity()), wide.number(kE8M0Nan), result);
  return l.cast(result, DType::kU8);
}

// ---- integers of 4 and 2 bits

Id widened_integer(Lowering& l, DType from, Id bits) {
  if (!dtype_is_signed(from)) return bits;
  const Id sign = l.integer(DType::kI8, 1 << (dtype_bits(from) - 1));
  return sub(l, l.scalar(ScalarOp::kXor, l.bit_cast(bits, DType::kI8), sign), sign);
}

Id narrowed_integer(Lowering& l, DType to, Id number) {
  const Id byte = l.cast(number, DType::kU8);
  return l.scalar(ScalarOp::kAnd, byte, l.integer(DType::kU8, (1 << dtype_bits(to)) - 1));
}

// Integers of up to 16 bits are numbers of f32.
DType real_for(DType dtype) {
  if (dtype == DType::kF32 || dtype == DType::kBool) return DType::kF32;
  return dtype_is_integer(dtype) && dtype_bits(dtype) <= 16 ? DType::kF32 : DType::kF64;
}

}  // namespace

Id widened(Lowering& l, DType from, Id bits, DType real) {
  if (from == DType::kF8E8M0) return widened_e8m0(l, bits, real);
  if (dtype_is_float(from)) return widened_float(l, *small_float(from), bits, real);
  return widened_integer(l, from, bits);
}

Id narrowed(Lowering& l, DType to, Id number, const Narrowing& narrowing) {
  if (!dtype_is_float(to)) return narrowed_integer(l, to, number);
  number = l.cast(number, real_for(l.dtype_of(number)));
  if (to == DType::kF8E8M0) return narrowed_e8m0(l, number, narrowing);
  return narrowed_float(l, *small_float(to), number, narrowing.saturate);
}

Result<Id> number_of_element(Lowering& l, const Value& value, const Index& index, DType real) {
  SLUICE_ASSIGN(const Id element, l.element(value, index));
  const DType dtype = value.type().dtype;
  return is_narrow(dtype) ? widened(l, dtype, element, real) : element;
}

}  // namespace sluice::loop
