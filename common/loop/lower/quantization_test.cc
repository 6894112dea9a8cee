#include "common/loop/testing/family_case.h"

namespace sluice::loop {
namespace {

const std::vector<std::string> kQuantized = {"i8", "u8", "i16", "u16", "i32", "u32"};

TEST(QuantizationTest, Quantizes) {
  const std::string node = "%y = QuantizeLinear(%x, %s, %z)";
  for (const std::string& to : kQuantized) {
    const Ranges ranges = {{"s", {0.01, 0.1}}, {"z", {to[0] == 'i' ? -9 : 0, 20}}};
    const std::string zero = ", %z: " + to;
    expect_family({"%x: D[3, 7], %s: D[]" + zero + "[]", node, 0, ranges});
    expect_family({"%x: i32[3, 7], %s: f32[]" + zero + "[]", node, 0, ranges, {"i32"}});
    expect_family({"%x: D[N, 4, M], %s: D[4]" + zero + "[4]", node, 0, ranges});
    expect_family({"%x: D[N, 4, M], %s: D[M]" + zero + "[M]", node + " {axis = -1}", 0, ranges});
    expect_family({"%x: D[3, 7], %s: D[3, 3]" + zero + "[3, 3]",
                   node + " {axis = 1, block_size = 3}", 0, ranges});
    expect_family({"%x: D[M, N], %s: D[1]" + zero + "[]", node, 0, ranges});
  }
  const Ranges scale = {{"s", {0.01, 0.1}}};
  expect_family({"%x: D[50], %s: D[]", "%y = QuantizeLinear(%x, %s)", 0, scale});
  expect_family(
      {"%x: D[5, 6], %s: D[6]", "%y = QuantizeLinear(%x, %s) {output_dtype = 3}", 0, scale});
}

TEST(QuantizationTest, Dequantizes) {
  const std::string node = "%y = DequantizeLinear(%x, %s, %z)";
  for (const std::string& from : kQuantized) {
    const double ulps = from == "i16" || from == "u16" ? 1 : 0;  // f16 is rounded from f32
    const std::string zero = ", %z: " + from;
    expect_family({"%x: " + from + "[3, 7], %s: D[]" + zero + "[]", node, ulps});
    expect_family({"%x: " + from + "[N, 4, M], %s: D[4]", "%y = DequantizeLinear(%x, %s)", ulps});
    expect_family(
        {"%x: " + from + "[N, 4, M], %s: D[M]" + zero + "[M]", node + " {axis = -1}", ulps});
    expect_family({"%x: " + from + "[3, 7], %s: D[3, 3]" + zero + "[3, 3]",
                   node + " {axis = 1, block_size = 3}", ulps});
  }
}

TEST(QuantizationTest, QuantizesToNarrow) {
  const std::string node = "%y = QuantizeLinear(%x, %s, %z)";
  for (const std::string to :
       {"i4", "u4", "i2", "u2", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f4e2m1"}) {
    const Ranges ranges = {{"s", {0.01, 0.1}}, {"z", {to[0] == 'u' ? 0 : -1, 1}}};
    const std::string zero = ", %z: " + to;
    expect_family({"%x: D[3, 7], %s: D[]" + zero + "[]", node, 0, ranges});
    expect_family({"%x: D[N, 4, M], %s: D[M]" + zero + "[M]", node + " {axis = -1}", 0, ranges});
    expect_family({"%x: D[3, 7], %s: D[3, 3]" + zero + "[3, 3]",
                   node + " {axis = 1, block_size = 3}", 0, ranges});
    expect_family({"%x: D[5, 3], %s: D[]",
                   "%y = QuantizeLinear(%x, %s) {output_dtype = " +
                       std::to_string(static_cast<int>(*dtype_from_name(to))) + ", saturate = 0}",
                   0,
                   {{"s", {0.01, 0.1}}}});
  }
  expect_family({"%x: D[9], %s: f32[]",
                 node,
                 0,
                 {{"s", {0.01, 0.1}}},
                 {"f32"},
                 "%z = constant f8e4m3fn[] [0x00]\n"});
}

TEST(QuantizationTest, DequantizesNarrow) {
  const std::string node = "%y = DequantizeLinear(%x, %s, %z)";
  for (const std::string from :
       {"i4", "u4", "i2", "u2", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f4e2m1"}) {
    const std::string zero = ", %z: " + from;
    const Ranges ranges = {{"s", {-4, 4}}};
    expect_family({"%x: " + from + "[3, 7], %s: D[]" + zero + "[]", node, 1, ranges});
    expect_family(
        {"%x: " + from + "[N, 4, M], %s: D[4]", "%y = DequantizeLinear(%x, %s)", 1, ranges});
    expect_family({"%x: " + from + "[3, 7], %s: D[3, 3]" + zero + "[3, 3]",
                   node + " {axis = 1, block_size = 3}", 1, ranges});
  }
}

TEST(QuantizationTest, FindsTheRange) {
  for (const std::string dims : {"3, 7", "N, M", "40", "", "0", "1, 1"}) {
    for (const Ranges& ranges :
         {Ranges{}, Ranges{{"x", {0.5, 3}}}, Ranges{{"x", {-3, -0.5}}}, Ranges{{"x", {0, 0}}}})
      expect_family(
          {"%x: f32[" + dims + "]", "%y, %s, %z = DynamicQuantizeLinear(%x)", 0, ranges, {"f32"}});
  }
}

// The scale of subnormal numbers may be 0.
TEST(QuantizationTest, FindsTheRangeOfTinyNumbers) {
  for (const Ranges& ranges : {Ranges{{"x", {0, 9e-44}}}, Ranges{{"x", {-9e-44, 4e-44}}}})
    expect_family({"%x: f32[3, 7]", "%y, %s, %z = DynamicQuantizeLinear(%x)", 0, ranges, {"f32"}});
}

}  // namespace
}  // namespace sluice::loop
