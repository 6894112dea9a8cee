// Maps an element type to a C++ type, for kernels written as templates.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "common/eval/call.h"

namespace sluice::eval {

template <typename T>
struct Tag {
  using type = T;
};

// Converts a result to an element: integers are truncated, and become 0 for a value outside 64
// bits.
template <typename T>
T element_of(double value) {
  if constexpr (std::is_integral_v<T>)
    return std::abs(value) < 0x1p63 ? static_cast<T>(static_cast<int64_t>(value)) : T{0};
  return static_cast<T>(value);
}

template <typename F>
Result<void> visit_float(const EvalCall& call, DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(Tag<float>{});
    case DType::kF64:
      return f(Tag<double>{});
    default:
      return call.unsupported(dtype);
  }
}

// Calls f for numbers whose integers are promoted to 64 bits (kPromoteWide).
template <typename F>
Result<void> visit_wide(const EvalCall& call, DType dtype, F&& f) {
  if (dtype == DType::kI64) return f(Tag<int64_t>{});
  if (dtype == DType::kU64) return f(Tag<uint64_t>{});
  return visit_float(call, dtype, f);
}

// Calls f for the element types of sums of products. Integers are modulo 2^bits, independent of the
// sign.
template <typename F>
Result<void> visit_product(const EvalCall& call, DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(Tag<float>{});
    case DType::kF64:
      return f(Tag<double>{});
    case DType::kI32:
    case DType::kU32:
      return f(Tag<uint32_t>{});
    case DType::kI64:
    case DType::kU64:
      return f(Tag<uint64_t>{});
    default:
      return call.unsupported(dtype);
  }
}

using Bytes16 = std::array<uint64_t, 2>;

// Dispatches by width only, for kernels that just move elements.
template <typename F>
Result<void> visit_width(const EvalCall& call, DType dtype, F&& f) {
  switch (dtype_bits(dtype)) {
    case 8:
      return f(Tag<uint8_t>{});
    case 16:
      return f(Tag<uint16_t>{});
    case 32:
      return f(Tag<uint32_t>{});
    case 64:
      return f(Tag<uint64_t>{});
    case 128:
      return f(Tag<Bytes16>{});
    default:
      return call.unsupported(dtype);
  }
}

}  // namespace sluice::eval
