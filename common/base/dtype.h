// Element types. The numbers are ONNX's TensorProto.DataType (onnx.proto, IR version 13).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

enum class DType : uint8_t {
  kUndefined = 0,
  kF32 = 1,
  kU8 = 2,
  kI8 = 3,
  kU16 = 4,
  kI16 = 5,
  kI32 = 6,
  kI64 = 7,
  kString = 8,
  kBool = 9,
  kF16 = 10,
  kF64 = 11,
  kU32 = 12,
  kU64 = 13,
  kC64 = 14,
  kC128 = 15,
  kBF16 = 16,
  kF8E4M3FN = 17,
  kF8E4M3FNUZ = 18,
  kF8E5M2 = 19,
  kF8E5M2FNUZ = 20,
  kU4 = 21,
  kI4 = 22,
  kF4E2M1 = 23,
  kF8E8M0 = 24,
  kU2 = 25,
  kI2 = 26,
};

inline constexpr int kDTypeCount = 27;

// Returns the bits of one element: 2, 4, 8 … 128; 0 for string and undefined.
int dtype_bits(DType dtype);
// Returns the bytes of `count` dense elements. Sub-byte elements are packed as ONNX packs them, the
// first element in the low bits. Strings: 0.
uint64_t dtype_bytes(DType dtype, uint64_t count);
// Returns "f32", "i64", "bool", "string", "f8e4m3fn", …
std::string_view dtype_name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);
bool dtype_is_valid(int number);
bool dtype_is_float(DType dtype);    // f16, bf16, f32, f64 and the 8- and 4-bit floats
bool dtype_is_integer(DType dtype);  // signed or unsigned, any width; not bool
bool dtype_is_signed(DType dtype);   // signed integers and floats

}  // namespace sluice
