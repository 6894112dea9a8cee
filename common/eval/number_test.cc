#include "common/eval/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace sluice::eval {
namespace {

uint8_t narrow(DType dtype, float value, bool saturate = true) {
  std::byte byte{};
  store_floats(dtype, &byte, 0, 1, &value, {.saturate = saturate});
  return static_cast<uint8_t>(byte);
}

float widen(DType dtype, uint8_t bits) {
  float value = 0;
  const auto byte = static_cast<std::byte>(bits);
  load_floats(dtype, &byte, 0, 1, &value);
  return value;
}

TEST(NumberTest, Halves) {
  EXPECT_EQ(float_to_half(1.0f), 0x3c00);
  EXPECT_EQ(float_to_half(-2.0f), 0xc000);
  EXPECT_EQ(float_to_half(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(0x1p-24f), 0x0001);
  EXPECT_EQ(float_to_half(0x1p-25f), 0x0000);         // rounds half to even
  EXPECT_EQ(float_to_half(1.0f + 0x1p-11f), 0x3c00);  // rounds half to even
  EXPECT_EQ(float_to_half(1.0f + 0x1.8p-10f), 0x3c02);
  for (uint32_t bits = 0; bits < 0x7c00; ++bits)
    EXPECT_EQ(float_to_half(half_to_float(static_cast<uint16_t>(bits))), bits);
  std::vector<uint16_t> halves(0x10000);
  std::iota(halves.begin(), halves.end(), uint16_t{0});
  std::vector<float> floats(halves.size());
  load_floats(DType::kF16, reinterpret_cast<const std::byte*>(halves.data()), 0, 0x10000,
              floats.data());
  for (const uint16_t half : halves)
    EXPECT_EQ(std::bit_cast<uint32_t>(floats[half]), std::bit_cast<uint32_t>(half_to_float(half)))
        << half;
  EXPECT_EQ(float_to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
}

TEST(NumberTest, SmallFloatsReadBack) {
  for (const DType dtype :
       {DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ}) {
    for (int bits = 0; bits < 256; ++bits) {
      const float value = widen(dtype, static_cast<uint8_t>(bits));
      if (std::isnan(value)) continue;
      EXPECT_EQ(narrow(dtype, value, false), bits) << dtype_name(dtype);
    }
  }
  EXPECT_EQ(widen(DType::kF8E4M3FN, 0x7e), 448.0f);
  EXPECT_TRUE(std::isnan(widen(DType::kF8E4M3FN, 0x7f)));
  EXPECT_EQ(widen(DType::kF8E5M2, 0x7c), std::numeric_limits<float>::infinity());
  EXPECT_EQ(widen(DType::kF8E4M3FNUZ, 0x7f), 240.0f);
  EXPECT_EQ(widen(DType::kF4E2M1, 0x07), 6.0f);
  EXPECT_EQ(widen(DType::kF4E2M1, 0x09), -0.5f);
}

TEST(NumberTest, SmallFloatsSaturate) {
  EXPECT_EQ(narrow(DType::kF8E4M3FN, 1e6f), 0x7e);
  EXPECT_EQ(narrow(DType::kF8E4M3FN, 1e6f, false), 0x7f);
  EXPECT_EQ(narrow(DType::kF8E5M2, 1e6f), 0x7b);
  EXPECT_EQ(narrow(DType::kF8E5M2, 1e6f, false), 0x7c);
  EXPECT_EQ(narrow(DType::kF8E5M2FNUZ, -1e6f, false), 0x80);
  EXPECT_EQ(narrow(DType::kF8E5M2FNUZ, -0.0f), 0x00);
}

TEST(NumberTest, PackedElements) {
  const int64_t values[] = {-8, 7, 3};
  std::byte bytes[2] = {std::byte{0xff}, std::byte{0xff}};
  store_ints(DType::kI4, bytes, 0, 3, values);
  EXPECT_EQ(bytes[0], std::byte{0x78});
  EXPECT_EQ(bytes[1], std::byte{0x03});
  int64_t back[3] = {};
  load_ints(DType::kI4, bytes, 0, 3, back);
  EXPECT_EQ(back[0], -8);
  EXPECT_EQ(back[2], 3);
}

TEST(NumberTest, FloatsBecomeIntegersByTruncation) {
  const float values[] = {1.9f, -1.9f, std::numeric_limits<float>::quiet_NaN(), 3e9f};
  int32_t result[4] = {};
  convert(DType::kF32, reinterpret_cast<const std::byte*>(values), DType::kI32,
          reinterpret_cast<std::byte*>(result), 4);
  EXPECT_EQ(result[0], 1);
  EXPECT_EQ(result[1], -1);
  EXPECT_EQ(result[2], std::numeric_limits<int32_t>::min());
  EXPECT_EQ(result[3], std::numeric_limits<int32_t>::min());
}

TEST(NumberTest, WhatIsNoNumberIsZero) {
  const std::byte bytes[32] = {std::byte{1}};
  for (const DType dtype : {DType::kString, DType::kC64, DType::kC128, DType::kUndefined}) {
    double number = 1;
    load_doubles(dtype, bytes, 0, 1, &number);
    EXPECT_EQ(number, 0) << dtype_name(dtype);
    int64_t whole = 1;
    load_ints(dtype, bytes, 0, 1, &whole);
    EXPECT_EQ(whole, 0) << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace sluice::eval
