#include "orchestrator/conformance/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "orchestrator/conformance/elements.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
Tensor tensor_of(DType dtype, const std::vector<T>& values) {
  Tensor tensor = make_tensor(dtype, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<T>().begin());
  return tensor;
}

bool equal(float a, float b) {
  return compare(tensor_of<float>(DType::kF32, {a}), tensor_of<float>(DType::kF32, {b}), {}).equal;
}

TEST(Compare, FloatsByTheStatedRule) {
  EXPECT_TRUE(equal(1.0009f, 1.0f));
  EXPECT_FALSE(equal(1.0011f, 1.0f));
  EXPECT_FALSE(equal(-1.0f, 1.0f));
  EXPECT_TRUE(equal(0.9e-7f, 0.0f));
  EXPECT_FALSE(equal(1.1e-7f, 0.0f));
  EXPECT_TRUE(equal(kNan, kNan));
  EXPECT_FALSE(equal(kNan, 1.0f));
  EXPECT_FALSE(equal(1.0f, kNan));
  EXPECT_TRUE(equal(kInfinity, kInfinity));
  EXPECT_FALSE(equal(kInfinity, -kInfinity));
  EXPECT_FALSE(equal(3e38f, kInfinity));
}

TEST(Compare, SubnormalNumbersCountAsZero) {
  const Tolerance none{0, 0, true};
  const float tiny = std::ldexp(1.0f, -127), normal = std::ldexp(1.0f, -126);
  EXPECT_TRUE(
      compare(tensor_of<float>(DType::kF32, {tiny}), tensor_of<float>(DType::kF32, {0.0f}), none)
          .equal);
  EXPECT_TRUE(
      compare(tensor_of<float>(DType::kF32, {0.0f}), tensor_of<float>(DType::kF32, {-tiny}), none)
          .equal);
  EXPECT_FALSE(
      compare(tensor_of<float>(DType::kF32, {normal}), tensor_of<float>(DType::kF32, {0.0f}), none)
          .equal);
}

TEST(Compare, IntegersExactlyUnlessToleranceIsGiven) {
  const Tensor a = tensor_of<int64_t>(DType::kI64, {(int64_t{1} << 60) + 1}),
               b = tensor_of<int64_t>(DType::kI64, {int64_t{1} << 60});
  EXPECT_FALSE(compare(a, b, {}).equal);
  EXPECT_TRUE(compare(a, a, {}).equal);
  EXPECT_TRUE(compare(tensor_of<uint8_t>(DType::kU8, {101}), tensor_of<uint8_t>(DType::kU8, {100}),
                      {0, 1, true})
                  .equal);
  EXPECT_FALSE(compare(tensor_of<uint8_t>(DType::kU8, {101}), tensor_of<uint8_t>(DType::kU8, {100}),
                       {0, 1, false})
                   .equal);
  EXPECT_FALSE(
      compare(tensor_of<uint8_t>(DType::kBool, {1}), tensor_of<uint8_t>(DType::kBool, {0}), {})
          .equal);
}

TEST(Compare, DtypeShapeAndPlaceAreNamed) {
  const Tensor a = make_tensor(DType::kF32, {2, 3});
  EXPECT_THAT(compare(a, make_tensor(DType::kF32, {3, 2}), {}).reason,
              HasSubstr("2x3, expected 3x2"));
  EXPECT_THAT(compare(a, make_tensor(DType::kF64, {2, 3}), {}).reason,
              HasSubstr("f32, expected f64"));
  Tensor b = a;
  b.as<float>()[4] = 2;
  b.as<float>()[5] = 1;
  const Comparison comparison = compare(a, b, {});
  EXPECT_THAT(comparison.reason, HasSubstr("element [1,1] is 0, expected 2; 2 of 6 differ"));
  EXPECT_EQ(comparison.max_error, 2);
  EXPECT_EQ(comparison.max_ulp, 1 << 23);  // 1 of 1
  EXPECT_TRUE(
      compare(make_tensor(DType::kF32, {0, 4}), make_tensor(DType::kF32, {0, 4}), {}).equal);
}

TEST(Compare, TextsAndComplexNumbers) {
  const Tensor a = make_string_tensor({2}, std::vector<std::string>{"x", "yz"});
  EXPECT_TRUE(compare(a, a, {}).equal);
  EXPECT_FALSE(compare(a, make_string_tensor({2}, std::vector<std::string>{"xy", "z"}), {}).equal);
  Tensor c = make_tensor(DType::kC64, {2});
  Tensor d = c;
  d.as<float>()[3] = 1;
  EXPECT_THAT(compare(c, d, {}).reason, HasSubstr("element [1]"));
}

TEST(Compare, ElementsOfSmallFormats) {
  EXPECT_THAT(
      elements_as_double(tensor_of<uint16_t>(DType::kF16, {0x3c00, 0xc000, 0x7c00, 0x0001})),
      ElementsAre(1, -2, std::numeric_limits<double>::infinity(), std::ldexp(1.0, -24)));
  EXPECT_THAT(elements_as_double(tensor_of<uint16_t>(DType::kBF16, {0x3f80, 0xbf00})),
              ElementsAre(1, -0.5));
  EXPECT_THAT(elements_as_double(tensor_of<uint8_t>(DType::kF8E4M3FN, {0x7e, 0x38})),
              ElementsAre(448, 1));
  EXPECT_TRUE(std::isnan(elements_as_double(tensor_of<uint8_t>(DType::kF8E4M3FN, {0x7f}))[0]));
  EXPECT_THAT(elements_as_double(tensor_of<uint8_t>(DType::kF8E4M3FNUZ, {0x7f, 0x40})),
              ElementsAre(240, 1));
  EXPECT_TRUE(std::isnan(elements_as_double(tensor_of<uint8_t>(DType::kF8E4M3FNUZ, {0x80}))[0]));
  EXPECT_THAT(elements_as_double(tensor_of<uint8_t>(DType::kF8E5M2, {0x7b})), ElementsAre(57344));
  EXPECT_THAT(elements_as_double(tensor_of<uint8_t>(DType::kF8E5M2FNUZ, {0x7f})),
              ElementsAre(57344));
  Tensor nibbles = make_tensor(DType::kI4, {3});
  nibbles.bytes = {std::byte{0xf7}, std::byte{0x08}};
  EXPECT_THAT(elements_as_double(nibbles), ElementsAre(7, -1, -8));
  nibbles.dtype = DType::kF4E2M1;
  EXPECT_THAT(elements_as_double(nibbles), ElementsAre(6, -6, -0.0));
}

TEST(Compare, TolerancesOfDataJson) {
  const auto tolerances = parse_tolerances(R"({"rtol": 0.01, "atol": [1, 2]})", 2);
  ASSERT_TRUE(tolerances.ok());
  EXPECT_EQ((*tolerances)[1].rtol, 0.01);
  EXPECT_EQ((*tolerances)[1].atol, 2);
  EXPECT_TRUE((*tolerances)[0].given);
  EXPECT_EQ((*parse_tolerances("{}", 1))[0].atol, 1e-7);
  EXPECT_FALSE(parse_tolerances(R"({"atol": [1, 2]})", 3).ok());
  EXPECT_FALSE(parse_tolerances(R"({"atol": "x"})", 1).ok());
  EXPECT_FALSE(parse_tolerances("[", 1).ok());
}

}  // namespace
}  // namespace sluice
