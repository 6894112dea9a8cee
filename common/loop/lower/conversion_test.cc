#include <bit>
#include <cstring>

#include "common/loop/testing/family_case.h"

namespace sluice::loop {
namespace {

const std::vector<std::string> kSmallFloats = {"f8e4m3fn",   "f8e4m3fnuz", "f8e5m2",
                                               "f8e5m2fnuz", "f4e2m1",     "f8e8m0"};
const std::vector<std::string> kSmallIntegers = {"i4", "u4", "i2", "u2"};
const std::vector<std::string> kNumbers = {"f32", "f64", "f16", "bf16", "i8",  "u8",  "i16",
                                           "u16", "i32", "u32", "i64",  "u64", "bool"};

std::vector<std::string> narrow_dtypes() {
  std::vector<std::string> all = kSmallFloats;
  all.insert(all.end(), kSmallIntegers.begin(), kSmallIntegers.end());
  return all;
}

std::string cast_to(const std::string& dtype, const std::string& attributes = "") {
  return fmt::format("%y = Cast(%x) {{to = {}{}}}", static_cast<int>(*dtype_from_name(dtype)),
                     attributes);
}

// Floats about all places where a narrow float is rounded: the upper bits of the mantissa with
// nothing, little and much below them, for exponents about those of the formats and at both ends.
template <typename Real, typename Bits>
Tensor floats_to_round(DType dtype, int mantissa, int bias) {
  std::vector<Bits> found;
  const auto add = [&](int field) {
    for (Bits upper = 0; upper < 32; ++upper) {
      const Bits from = static_cast<Bits>(field) << mantissa | upper << (mantissa - 5);
      for (const Bits low : {Bits{0}, Bits{1}, (Bits{1} << (mantissa - 5)) - 1}) {
        found.push_back(from | low);
        found.push_back(from | low | Bits{1} << (sizeof(Bits) * 8 - 1));
      }
    }
  };
  for (const int exponent : {-127, -126, -125, 126, 127}) add(exponent + bias);
  for (int exponent = -20; exponent <= 18; ++exponent) add(exponent + bias);
  add(0);
  add(2 * bias + 1);
  Tensor tensor = make_tensor(dtype, {static_cast<int64_t>(found.size())});
  std::memcpy(tensor.bytes.data(), found.data(), found.size() * sizeof(Bits));
  return tensor;
}

// Every byte, as many elements as it has.
Tensor all_bits(DType dtype) {
  Tensor tensor = make_tensor(dtype, {256 * 8 / dtype_bits(dtype)});
  for (size_t i = 0; i < 256; ++i) tensor.bytes[i] = static_cast<std::byte>(i);
  return tensor;
}

FamilyCase of_values(const std::string& dtype, Tensor values, const std::string& node) {
  FamilyCase family{fmt::format("%x: {}[{}]", dtype, values.dims[0]), node, 0, {}, {dtype}};
  family.values["x"] = std::move(values);
  return family;
}

TEST(ConversionTest, RoundsToSmallFloats) {
  for (const std::string& to : kSmallFloats) {
    for (const std::string saturate : {", saturate = 0", ", saturate = 1"}) {
      for (const std::string mode : {"up", "down", "nearest"}) {
        if (mode != "up" && to != "f8e8m0") continue;
        const std::string node = cast_to(to, saturate + ", round_mode = \"" + mode + "\"");
        expect_family(
            of_values("f32", floats_to_round<float, uint32_t>(DType::kF32, 23, 127), node));
        expect_family(
            of_values("f64", floats_to_round<double, uint64_t>(DType::kF64, 52, 1023), node));
      }
    }
  }
}

TEST(ConversionTest, ReadsEveryNarrowNumber) {
  std::vector<std::string> targets = kNumbers;
  for (const std::string& to : narrow_dtypes()) targets.push_back(to);
  for (const std::string& from : narrow_dtypes()) {
    for (const std::string& to : targets)
      expect_family(of_values(from, all_bits(*dtype_from_name(from)), cast_to(to)));
  }
}

TEST(ConversionTest, CastsToNarrow) {
  for (const std::string& to : narrow_dtypes()) {
    for (const std::string inputs : {"%x: D[3, 5]", "%x: D[N, M]", "%x: D[]", "%x: D[2, 0]"})
      expect_family({inputs, cast_to(to), 0, {}, kNumbers});
  }
  expect_family({"%x: D[N, 3], %like: f8e5m2[0]", "%y = CastLike(%x, %like) {saturate = 0}", 0});
  expect_family({"%x: D[N, 3], %like: u4[M]", "%y = CastLike(%x, %like)", 0});
}

TEST(ConversionTest, CastsFromNarrow) {
  for (const std::string& from : narrow_dtypes()) {
    for (const std::string inputs : {"%x: D[3, 5]", "%x: D[N, M]", "%x: D[]", "%x: D[2, 0]"}) {
      for (const std::string to : {"f32", "f64", "i32", "i2"})
        expect_family({inputs, cast_to(to), 0, {}, {from}});
    }
  }
}

TEST(ConversionTest, MovesNarrowElements) {
  for (const std::string& dtype : narrow_dtypes()) {
    expect_family({"%x: D[3, 5]", "%y = Identity(%x)", 0, {}, {dtype}});
    expect_family({"%x: D[3, N, 5]", "%y = Transpose(%x) {perm = [2, 0, 1]}", 0, {}, {dtype}});
    expect_family(
        {"%x: D[3, 4]", "%y = Reshape(%x, %s)", 0, {}, {dtype}, "%s = constant i64[2] [2, 6]\n"});
    expect_family(
        {"%x: D[3, 1]", "%y = Expand(%x, %s)", 0, {}, {dtype}, "%s = constant i64[2] [3, 7]\n"});
  }
  expect_family({"%x: i4[3, 5]", "%y = BitCast(%x) {to = 21}", 0});
  expect_family({"%x: f8e5m2[N, 5]", "%y = BitCast(%x) {to = 3}", 0});
}

// Several narrow values in one body, with packed results beside others.
TEST(ConversionTest, FusedNarrowValues) {
  const LoweringCase test{R"(graph @main(%x: f32[N, 7], %q: i4[N, 7]) -> (%a, %b, %c) {
  %a: f8e5m2[N, 7], %b: u2[N, 7], %c: f32[N, 7] = Fused(%x, %q) {body = @body}
}
graph @body(%x: f32[N, 7], %q: i4[N, 7]) -> (%a, %b, %c) fused {
  %s = constant f32[] [0.25]
  %r: f32[N, 7] = DequantizeLinear(%q, %s)
  %t: f32[N, 7] = Add(%x, %r)
  %a: f8e5m2[N, 7] = Cast(%t) {to = 19}
  %b: u2[N, 7] = Cast(%t) {to = 25}
  %c: f32[N, 7] = Cast(%a) {to = 1}
}
)"};
  for (const int64_t n : {0, 1, 2, 3, 9}) {
    LoweringCase sized = test;
    sized.sizes = {{"N", n}};
    EXPECT_EQ(lowering_difference(sized), "") << n;
  }
}

}  // namespace
}  // namespace sluice::loop
