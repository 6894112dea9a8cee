#include "common/eval/number.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "common/base/float_format.h"

namespace sluice::eval {
namespace {

uint32_t encode(const FloatFormat& format, double value, bool saturate) {
  const uint32_t sign = std::signbit(value) ? 1u << (format.bits - 1) : 0;
  if (std::isnan(value))
    return format.signed_nan && format.bits > 4 ? format.nan | sign : format.nan;
  const double magnitude = std::abs(value);
  int exponent = 0;
  if (magnitude != 0 && !std::isinf(magnitude)) std::frexp(magnitude, &exponent);
  const int field = std::max(exponent - 1 + format.bias, 1);
  const double quantum = power_of_two(field - format.bias - format.mantissa);
  const double rounded =
      std::isinf(magnitude) ? magnitude : std::nearbyint(magnitude / quantum) * quantum;
  uint32_t code = 0;
  if (rounded > format.largest) {
    const bool clamp = format.bits < 16 && (saturate || format.bits == 4);
    if (!clamp && !format.infinite) return format.signed_nan ? format.nan | sign : format.nan;
    code = encode(format, format.largest, true) + (clamp ? 0 : 1);
  } else {
    // The quotient reaches 2^(mantissa + 1) when rounding up carries.
    const uint32_t steps = static_cast<uint32_t>(rounded / quantum);
    code = steps < (1u << format.mantissa)
               ? steps
               : ((static_cast<uint32_t>(field) - 1) << format.mantissa) + steps;
  }
  if (code == 0 && !format.signed_nan) return 0;
  return code | sign;
}

double decode_e8m0(uint8_t bits) {
  return bits == 0xff ? std::numeric_limits<double>::quiet_NaN()
                      : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

uint8_t encode_e8m0(double value, const Narrowing& narrowing) {
  if (std::isnan(value) || (std::isinf(value) && !narrowing.saturate)) return 0xff;
  const double magnitude = std::abs(value);
  if (std::isinf(magnitude)) return 0xfe;
  if (magnitude == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // in [1/2, 1)
  int code = exponent - 1 + 127;
  if (narrowing.mode == Narrowing::Mode::kUp && fraction > 0.5) ++code;
  if (narrowing.mode == Narrowing::Mode::kNearest && fraction >= 0.75) ++code;
  if (code > 0xfe) return narrowing.saturate ? 0xfe : 0xff;
  return static_cast<uint8_t>(std::max(code, 0));
}

// Truncates as x86 processors do, defined for every value.
int64_t truncated(double value) {
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0))
    return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

int64_t double_to_int(DType dtype, double value) {
  switch (dtype) {
    case DType::kU64:
      if (value >= 9223372036854775808.0 && value < 18446744073709551616.0)
        return static_cast<int64_t>(static_cast<uint64_t>(value));
      return truncated(value);
    case DType::kI32:
      return value > -2147483649.0 && value < 2147483648.0 ? static_cast<int64_t>(value)
                                                           : std::numeric_limits<int32_t>::min();
    case DType::kBool:
      return value != 0;
    default:
      return truncated(value);
  }
}

uint32_t packed_at(const std::byte* data, int64_t index, int bits) {
  const int64_t per_byte = 8 / bits;
  const auto byte = static_cast<uint32_t>(data[index / per_byte]);
  return (byte >> (index % per_byte * bits)) & ((1u << bits) - 1);
}

void store_packed(std::byte* data, int64_t index, int bits, uint32_t value) {
  const int64_t per_byte = 8 / bits;
  const int shift = static_cast<int>(index % per_byte) * bits;
  const uint32_t mask = ((1u << bits) - 1) << shift;
  std::byte& byte = data[index / per_byte];
  const uint32_t kept = shift == 0 ? 0 : static_cast<uint32_t>(byte) & ~mask;
  byte = static_cast<std::byte>(kept | ((value << shift) & mask));
}

template <typename T, typename U>
void load_as(const std::byte* data, int64_t first, int64_t count, U* into) {
  const T* from = reinterpret_cast<const T*>(data) + first;
  for (int64_t i = 0; i < count; ++i) into[i] = static_cast<U>(from[i]);
}

template <typename T, typename U>
void store_as(std::byte* data, int64_t first, int64_t count, const U* from) {
  T* into = reinterpret_cast<T*>(data) + first;
  for (int64_t i = 0; i < count; ++i) into[i] = static_cast<T>(from[i]);
}

template <typename U>
void load_small_floats(DType dtype, const std::byte* data, int64_t first, int64_t count, U* into) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(data);
  const auto* words = reinterpret_cast<const uint16_t*>(data);
  const FloatFormat* format = small_float(dtype);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = first + i;
    if (dtype == DType::kBF16) {
      into[i] = static_cast<U>(bf16_to_float(words[at]));
    } else if (dtype == DType::kF16) {
      into[i] = static_cast<U>(half_to_float(words[at]));
    } else if (dtype == DType::kF8E8M0) {
      into[i] = static_cast<U>(decode_e8m0(bytes[at]));
    } else {
      into[i] = static_cast<U>(
          float_of_bits(*format, format->bits == 4 ? packed_at(data, at, 4) : bytes[at]));
    }
  }
}

template <typename U>
void store_small_floats(DType dtype, std::byte* data, int64_t first, int64_t count, const U* from,
                        const Narrowing& narrowing) {
  auto* bytes = reinterpret_cast<uint8_t*>(data);
  auto* words = reinterpret_cast<uint16_t*>(data);
  const FloatFormat* format = small_float(dtype);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = first + i;
    const U value = from[i];
    if (dtype == DType::kBF16) {
      words[at] = float_to_bf16(static_cast<float>(value));
    } else if (dtype == DType::kF16) {
      words[at] = sizeof(U) == 4
                      ? float_to_half(static_cast<float>(value))
                      : static_cast<uint16_t>(encode(*small_float(DType::kF16), value, false));
    } else if (dtype == DType::kF8E8M0) {
      bytes[at] = encode_e8m0(value, narrowing);
    } else if (format->bits == 4) {
      store_packed(data, at, 4, encode(*format, value, true));
    } else {
      bytes[at] = static_cast<uint8_t>(encode(*format, value, narrowing.saturate));
    }
  }
}

template <typename U>
bool load_native(DType dtype, const std::byte* data, int64_t first, int64_t count, U* into) {
  switch (dtype) {
    case DType::kF32:
      return load_as<float>(data, first, count, into), true;
    case DType::kF64:
      return load_as<double>(data, first, count, into), true;
    case DType::kBool:
    case DType::kU8:
      return load_as<uint8_t>(data, first, count, into), true;
    case DType::kI8:
      return load_as<int8_t>(data, first, count, into), true;
    case DType::kU16:
      return load_as<uint16_t>(data, first, count, into), true;
    case DType::kI16:
      return load_as<int16_t>(data, first, count, into), true;
    case DType::kU32:
      return load_as<uint32_t>(data, first, count, into), true;
    case DType::kI32:
      return load_as<int32_t>(data, first, count, into), true;
    case DType::kU64:
      return load_as<uint64_t>(data, first, count, into), true;
    case DType::kI64:
      return load_as<int64_t>(data, first, count, into), true;
    default:
      return false;
  }
}

template <typename U>
void load_packed_ints(DType dtype, const std::byte* data, int64_t first, int64_t count, U* into) {
  const int bits = dtype_bits(dtype);
  if (bits != 2 && bits != 4) {  // not a number type
    std::fill_n(into, count, U(0));
    return;
  }
  const int top = 1 << (bits - 1);
  for (int64_t i = 0; i < count; ++i) {
    const int raw = static_cast<int>(packed_at(data, first + i, bits));
    into[i] = static_cast<U>(dtype_is_signed(dtype) && raw >= top ? raw - 2 * top : raw);
  }
}

template <typename U>
void load_any(DType dtype, const std::byte* data, int64_t first, int64_t count, U* into) {
  if (load_native(dtype, data, first, count, into)) return;
  if (dtype_is_float(dtype)) {
    load_small_floats(dtype, data, first, count, into);
  } else {
    load_packed_ints(dtype, data, first, count, into);
  }
}

template <typename U>
void store_any_float(DType dtype, std::byte* data, int64_t first, int64_t count, const U* from,
                     const Narrowing& narrowing) {
  if (dtype == DType::kF32) return store_as<float>(data, first, count, from);
  if (dtype == DType::kF64) return store_as<double>(data, first, count, from);
  if (dtype_is_float(dtype)) return store_small_floats(dtype, data, first, count, from, narrowing);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = double_to_int(dtype, from[i]);
    store_ints(dtype, data, first + i, 1, &value);
  }
}

}  // namespace

// Does the same as half_to_float without branches, so that the loop is vectorized: weights are
// often halves.
static void load_halves(const uint16_t* halves, int64_t count, float* into) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t magnitude = halves[i] & 0x7fffu;
    const uint32_t sign = (halves[i] & 0x8000u) << 16;
    // The exponent's bias changes from 15 to 127.
    const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    const uint32_t special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;  // infinities and NaNs
    into[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign);
  }
}

void load_doubles(DType dtype, const std::byte* data, int64_t first, int64_t count, double* into) {
  load_any(dtype, data, first, count, into);
}

void load_floats(DType dtype, const std::byte* data, int64_t first, int64_t count, float* into) {
  if (dtype == DType::kF16)
    return load_halves(reinterpret_cast<const uint16_t*>(data) + first, count, into);
  load_any(dtype, data, first, count, into);
}

void load_ints(DType dtype, const std::byte* data, int64_t first, int64_t count, int64_t* into) {
  load_any(dtype, data, first, count, into);
}

void store_doubles(DType dtype, std::byte* data, int64_t first, int64_t count, const double* from,
                   const Narrowing& narrowing) {
  store_any_float(dtype, data, first, count, from, narrowing);
}

void store_floats(DType dtype, std::byte* data, int64_t first, int64_t count, const float* from,
                  const Narrowing& narrowing) {
  store_any_float(dtype, data, first, count, from, narrowing);
}

void store_ints(DType dtype, std::byte* data, int64_t first, int64_t count, const int64_t* from) {
  if (dtype == DType::kBool) {
    for (int64_t i = 0; i < count; ++i) reinterpret_cast<uint8_t*>(data)[first + i] = from[i] != 0;
    return;
  }
  switch (dtype_bits(dtype)) {
    case 8:
      return store_as<uint8_t>(data, first, count, from);
    case 16:
      return store_as<uint16_t>(data, first, count, from);
    case 32:
      return store_as<uint32_t>(data, first, count, from);
    case 64:
      return store_as<uint64_t>(data, first, count, from);
    case 2:
    case 4:
      for (int64_t i = 0; i < count; ++i)
        store_packed(data, first + i, dtype_bits(dtype), static_cast<uint32_t>(from[i]));
  }
}

void load_order_keys(DType dtype, const std::byte* data, int64_t first, int64_t count,
                     int64_t* into) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  if (!dtype_is_float(dtype)) {
    load_ints(dtype, data, first, count, into);
    for (int64_t i = 0; dtype == DType::kU64 && i < count; ++i) into[i] ^= kLowest;
    return;
  }
  if (dtype == DType::kF32) {
    const auto* values = reinterpret_cast<const float*>(data) + first;
    for (int64_t i = 0; i < count; ++i) {
      const auto bits = std::bit_cast<int32_t>(values[i]);
      const int32_t key = bits < 0 ? std::numeric_limits<int32_t>::min() - bits : bits;
      into[i] = values[i] != values[i] ? std::numeric_limits<int32_t>::max() : key;
    }
    return;
  }
  constexpr int64_t kChunk = 256;
  std::array<double, kChunk> values;
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t n = std::min(kChunk, count - begin);
    load_doubles(dtype, data, first + begin, n, values.data());
    for (int64_t i = 0; i < n; ++i) {
      const double value = values[static_cast<size_t>(i)];
      const auto bits = std::bit_cast<int64_t>(value);
      into[begin + i] = value != value ? std::numeric_limits<int64_t>::max()
                        : bits < 0     ? kLowest - bits
                                       : bits;  // -0 has the key of 0
    }
  }
}

void convert(DType from, const std::byte* source, DType to, std::byte* target, int64_t count,
             const Narrowing& narrowing) {
  constexpr int64_t kChunk = 1024;
  std::array<float, kChunk> floats;
  std::array<double, kChunk> doubles;
  std::array<int64_t, kChunk> ints;
  const bool integers = !dtype_is_float(from) && !dtype_is_float(to);
  const bool singles = dtype_is_float(from) && from != DType::kF64 && to != DType::kF64;
  const bool rounds = dtype_is_float(from) && dtype_is_integer(to) && dtype_bits(to) < 8;
  const auto round = [](auto number) { return std::nearbyint(number); };
  for (int64_t first = 0; first < count; first += kChunk) {
    const int64_t n = std::min(kChunk, count - first);
    if (integers) {
      load_ints(from, source, first, n, ints.data());
      store_ints(to, target, first, n, ints.data());
    } else if (singles || (to == DType::kF32 && from != DType::kF64)) {
      load_floats(from, source, first, n, floats.data());
      if (rounds) std::transform(floats.data(), floats.data() + n, floats.data(), round);
      store_floats(to, target, first, n, floats.data(), narrowing);
    } else {
      load_doubles(from, source, first, n, doubles.data());
      if (rounds) std::transform(doubles.data(), doubles.data() + n, doubles.data(), round);
      store_doubles(to, target, first, n, doubles.data(), narrowing);
    }
  }
}

}  // namespace sluice::eval
