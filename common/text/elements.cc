#include "common/text/elements.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "fmt/core.h"

namespace sluice::text {
namespace {

constexpr uint32_t kQuietNan32 = 0x7fc00000;

// The bit fields of a 16-bit float.
struct Half {
  int fraction_bits;
  int bias;
};

std::optional<Half> half_of(DType dtype) {
  if (dtype == DType::kF16) return Half{10, 15};
  if (dtype == DType::kBF16) return Half{7, 127};
  return std::nullopt;
}

float half_to_float(uint32_t bits, Half half) {
  const uint32_t fraction_mask = (1u << half.fraction_bits) - 1;
  const int exponent_mask = (1 << (15 - half.fraction_bits)) - 1;
  const uint32_t fraction = bits & fraction_mask;
  const int exponent = static_cast<int>(bits >> half.fraction_bits) & exponent_mask;
  const float sign = (bits & 0x8000u) != 0 ? -1.0f : 1.0f;
  if (exponent == exponent_mask) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0)
    return sign * std::ldexp(static_cast<float>(fraction), 1 - half.bias - half.fraction_bits);
  return sign * std::ldexp(static_cast<float>(fraction | (fraction_mask + 1)),
                           exponent - half.bias - half.fraction_bits);
}

// Converts to the nearest half, ties to even; too large values become infinity.
uint32_t float_to_half(float value, Half half) {
  const uint32_t sign = std::signbit(value) ? 0x8000u : 0;
  const uint32_t infinity = 0x7fffu & ~((1u << half.fraction_bits) - 1);
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | infinity;
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude in [2^(exponent-1), 2^exponent)
  const int lowest = 1 - half.bias;
  // The exponent of the last fraction bit.
  const int scale = std::max(exponent - 1, lowest) - half.fraction_bits;
  const auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, -scale)));
  // A carry out of the fraction correctly increments the exponent.
  const uint64_t bits =
      units + (static_cast<uint64_t>(scale + half.fraction_bits - lowest) << half.fraction_bits);
  return sign | static_cast<uint32_t>(std::min<uint64_t>(bits, infinity));
}

uint64_t element_bits(std::span<const std::byte> bytes, int width, size_t index) {
  uint64_t bits = 0;
  if (width < 8) {
    const size_t per_byte = 8 / static_cast<size_t>(width);
    const auto byte = std::to_integer<uint64_t>(bytes[index / per_byte]);
    return (byte >> (index % per_byte * static_cast<size_t>(width))) & ((1u << width) - 1);
  }
  const size_t size = static_cast<size_t>(width) / 8;
  std::memcpy(&bits, bytes.data() + index * size, size);
  return bits;
}

int64_t sign_extended(uint64_t bits, int width) {
  const int shift = 64 - width;
  return static_cast<int64_t>(bits << shift) >> shift;
}

std::string print_real32(float value) {
  if (std::isnan(value)) {
    const auto bits = std::bit_cast<uint32_t>(value);
    return bits == kQuietNan32 ? "nan" : fmt::format("0x{:08x}", bits);
  }
  return fmt::format("{}", value);
}

std::string print_real64(double value) {
  if (std::isnan(value)) return fmt::format("0x{:016x}", std::bit_cast<uint64_t>(value));
  return fmt::format("{}", value);
}

template <typename T>
std::optional<T> parse_number(std::string_view text, int base = 10) {
  T value{};
  std::from_chars_result done{};
  if constexpr (std::is_floating_point_v<T>) {
    if (text == "nan") return std::numeric_limits<T>::quiet_NaN();
    done = std::from_chars(text.data(), text.data() + text.size(), value);
    if (done.ec == std::errc::result_out_of_range) return std::nullopt;
  } else {
    done = std::from_chars(text.data(), text.data() + text.size(), value, base);
  }
  if (done.ec != std::errc() || done.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_hex(std::string_view text) { return text.starts_with("0x"); }

std::optional<uint64_t> parse_bits(std::string_view text, int width) {
  const auto bits = parse_number<uint64_t>(text.substr(2), 16);
  if (!bits || (width < 64 && *bits >> width != 0)) return std::nullopt;
  return bits;
}

std::optional<uint64_t> parse_integer(std::string_view text, DType dtype, int width) {
  if (!dtype_is_signed(dtype)) {
    const auto value = parse_number<uint64_t>(text);
    return value && (width == 64 || *value >> width == 0) ? value : std::nullopt;
  }
  const auto value = parse_number<int64_t>(text);
  if (!value) return std::nullopt;
  const auto bits =
      static_cast<uint64_t>(*value) & (width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1);
  return sign_extended(bits, width) == *value ? std::optional(bits) : std::nullopt;
}

std::optional<uint64_t> parse_element(std::string_view text, DType dtype, int width) {
  if (is_hex(text)) return parse_bits(text, width);
  if (dtype == DType::kBool) {
    if (text == "true") return 1;
    return text == "false" ? std::optional<uint64_t>(0) : std::nullopt;
  }
  if (dtype_is_integer(dtype)) return parse_integer(text, dtype, width);
  if (dtype == DType::kF64 || dtype == DType::kC128) {
    const auto value = parse_number<double>(text);
    return value ? std::optional(std::bit_cast<uint64_t>(*value)) : std::nullopt;
  }
  const auto value = parse_number<float>(text);
  if (!value) return std::nullopt;
  if (dtype == DType::kF32 || dtype == DType::kC64) return std::bit_cast<uint32_t>(*value);
  const auto half = half_of(dtype);
  return half && !std::isnan(*value) ? std::optional<uint64_t>(float_to_half(*value, *half))
                                     : std::nullopt;
}

}  // namespace

bool looks_like_float(std::string_view number) {
  return is_hex(number) || number.find_first_of(".einEN") != std::string_view::npos;
}

std::string print_float(float value) {
  const std::string text = print_real32(value);
  return looks_like_float(text) ? text : text + ".0";
}

std::optional<float> parse_float(std::string_view text) {
  if (!is_hex(text)) return parse_number<float>(text);
  const auto bits = parse_bits(text, 32);
  return bits ? std::optional(std::bit_cast<float>(static_cast<uint32_t>(*bits))) : std::nullopt;
}

std::string print_element(DType dtype, std::span<const std::byte> bytes, size_t index) {
  const int width = dtype_bits(dtype);
  if (dtype == DType::kC64 || dtype == DType::kC128) {
    const DType part = dtype == DType::kC64 ? DType::kF32 : DType::kF64;
    return fmt::format("({}, {})", print_element(part, bytes, 2 * index),
                       print_element(part, bytes, 2 * index + 1));
  }
  const uint64_t bits = element_bits(bytes, width, index);
  if (dtype == DType::kBool && bits <= 1) return bits != 0 ? "true" : "false";
  if (dtype_is_integer(dtype)) {
    return dtype_is_signed(dtype) ? fmt::format("{}", sign_extended(bits, width))
                                  : fmt::format("{}", bits);
  }
  if (dtype == DType::kF32) return print_real32(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  if (dtype == DType::kF64) return print_real64(std::bit_cast<double>(bits));
  if (const auto half = half_of(dtype)) {
    const float value = half_to_float(static_cast<uint32_t>(bits), *half);
    if (!std::isnan(value)) return fmt::format("{}", value);
  }
  return fmt::format("0x{:0{}x}", bits, (width + 3) / 4);
}

void ElementWriter::put(uint64_t bits, int width) {
  if (width < 8) {
    const size_t per_byte = 8 / static_cast<size_t>(width);
    if (count_ % per_byte == 0) bytes_.push_back(std::byte{0});
    bytes_.back() |=
        static_cast<std::byte>(bits << (count_ % per_byte * static_cast<size_t>(width)));
  } else {
    for (int i = 0; i < width / 8; ++i) bytes_.push_back(static_cast<std::byte>(bits >> (8 * i)));
  }
  ++count_;
}

bool ElementWriter::add(std::string_view text) {
  int width = dtype_bits(dtype_);
  if (dtype_ == DType::kC64 || dtype_ == DType::kC128) width /= 2;
  const auto bits = parse_element(text, dtype_, width);
  if (bits) put(*bits, width);
  return bits.has_value();
}

}  // namespace sluice::text
