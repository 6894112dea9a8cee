#include "common/base/dtype.h"

#include <array>

namespace sluice {
namespace {

enum class Class : uint8_t { kOther, kFloat, kSigned, kUnsigned };

struct Row {
  std::string_view name;
  int bits;
  Class kind;
};

constexpr std::array<Row, kDTypeCount> kRows = {{
    {"undefined", 0, Class::kOther},  {"f32", 32, Class::kFloat},
    {"u8", 8, Class::kUnsigned},      {"i8", 8, Class::kSigned},
    {"u16", 16, Class::kUnsigned},    {"i16", 16, Class::kSigned},
    {"i32", 32, Class::kSigned},      {"i64", 64, Class::kSigned},
    {"string", 0, Class::kOther},     {"bool", 8, Class::kOther},
    {"f16", 16, Class::kFloat},       {"f64", 64, Class::kFloat},
    {"u32", 32, Class::kUnsigned},    {"u64", 64, Class::kUnsigned},
    {"c64", 64, Class::kOther},       {"c128", 128, Class::kOther},
    {"bf16", 16, Class::kFloat},      {"f8e4m3fn", 8, Class::kFloat},
    {"f8e4m3fnuz", 8, Class::kFloat}, {"f8e5m2", 8, Class::kFloat},
    {"f8e5m2fnuz", 8, Class::kFloat}, {"u4", 4, Class::kUnsigned},
    {"i4", 4, Class::kSigned},        {"f4e2m1", 4, Class::kFloat},
    {"f8e8m0", 8, Class::kFloat},     {"u2", 2, Class::kUnsigned},
    {"i2", 2, Class::kSigned},
}};

// Returns the row of a type. An attribute of a damaged graph may have any number, which then counts
// as undefined.
const Row& row(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  return kRows[index < kRows.size() ? index : 0];
}

}  // namespace

int dtype_bits(DType dtype) { return row(dtype).bits; }

uint64_t dtype_bytes(DType dtype, uint64_t count) {
  const uint64_t bits = static_cast<uint64_t>(dtype_bits(dtype));
  return bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
}

std::string_view dtype_name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 1; i < kDTypeCount; ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

bool dtype_is_valid(int number) { return number > 0 && number < kDTypeCount; }
bool dtype_is_float(DType dtype) { return row(dtype).kind == Class::kFloat; }
bool dtype_is_integer(DType dtype) {
  return row(dtype).kind == Class::kSigned || row(dtype).kind == Class::kUnsigned;
}
bool dtype_is_signed(DType dtype) {
  return row(dtype).kind == Class::kSigned || row(dtype).kind == Class::kFloat;
}

}  // namespace sluice
