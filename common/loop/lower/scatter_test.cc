#include "common/loop/testing/node_form.h"

namespace sluice::loop {
namespace {

// ---- scatters

TEST(ScatterLoweringTest, ScatterElements) {
  const LoweringCase three = with_indices(-3, 2);
  const std::string inputs = "%x: D[3, M], %i: i64[5, M], %u: D[5, M]";
  expect_same({inputs, "", "%y = ScatterElements(%x, %i, %u)"}, kAllDtypes, kTwoSizes, three);
  expect_same({inputs, "", "%y = Scatter(%x, %i, %u)"}, kSomeDtypes, kTwoSizes, three);
  const std::vector<std::string> numbers = {"f32", "f64", "f16", "bf16", "i8",
                                            "i32", "i64", "u8",  "u64"};
  for (const std::string reduction : {"add", "mul", "max", "min"}) {
    const std::string node = "%y = ScatterElements(%x, %i, %u) {reduction = \"" + reduction + "\"";
    expect_same({inputs, "", node + "}"}, numbers, kTwoSizes, three);
    expect_same({"%x: f32[N, 3], %i: i32[N, M], %u: f32[N, M]", "", node + ", axis = -1}"}, {"f32"},
                kTwoSizes, three);
    expect_same({"%x: D[4, 3, 2], %i: i64[3, 5, 1], %u: D[3, 5, 1]", "", node + ", axis = 1}"},
                {"f32", "f16"}, kTwoSizes, three);
    expect_same({"%x: f32[N, M], %i: i64[2, M], %u: f32[2, M]", "", node + "}"}, {"f32"}, kTwoSizes,
                three);
  }
  expect_same({"%x: f32[3], %i: i64[0], %u: f32[0]", "", "%y = ScatterElements(%x, %i, %u)"},
              {"f32"}, kTwoSizes, three);
  expect_same({"%x: f32[0, 3], %i: i64[0, 5], %u: f32[0, 5]", "",
               "%y = ScatterElements(%x, %i, %u) {axis = 1}"},
              {"f32"}, kTwoSizes, three);
  expect_same({"%x: f32[1, 2, 1, 2, 1, 2, 3, 1], %i: i64[1, 1, 1, 2, 1, 2, 4, 1], %u: f32[1, 1, 1, "
               "2, 1, 2, 4, 1]",
               "", "%y = ScatterElements(%x, %i, %u) {axis = 6}"},
              {"f32"}, kTwoSizes, three);
}

TEST(ScatterLoweringTest, ScatterND) {
  const LoweringCase two = with_indices(-2, 1);
  const std::string inputs = "%x: D[2, 3, M], %i: i64[N, 1], %u: D[N, 3, M]";
  expect_same({inputs, "", "%y = ScatterND(%x, %i, %u)"}, kAllDtypes, kTwoSizes, two);
  const std::vector<std::string> numbers = {"f32", "f64", "f16", "bf16",
                                            "i16", "i64", "u32", "u64"};
  for (const std::string reduction : {"none", "add", "mul", "max", "min"}) {
    const std::string node = "%y = ScatterND(%x, %i, %u) {reduction = \"" + reduction + "\"}";
    expect_same({inputs, "", node}, numbers, kTwoSizes, two);
    expect_same({"%x: D[2, 3, 2], %i: i64[N, 3], %u: D[N]", "", node}, {"f32", "f16"}, kTwoSizes,
                two);
    expect_same({"%x: f32[2, 3, M], %i: i64[2, N, 2], %u: f32[2, N, M]", "", node}, {"f32"},
                kTwoSizes, two);
    expect_same({"%x: f32[N, M], %i: i64[2], %u: f32[]", "", node}, {"f32"}, kTwoSizes, two);
    expect_same({"%x: f32[N, M], %i: i64[0, 1], %u: f32[0, M]", "", node}, {"f32"}, kTwoSizes, two);
  }
  expect_same({"%x: f32[2, 2], %u: f32[3, 2]", "%i = constant i64[3, 1] [1, 1, 0]",
               "%y = ScatterND(%x, %i, %u)"});
}

// What follows in a body is computed for each element that is given.
TEST(ScatterLoweringTest, ScatterInBodies) {
  for (const std::string reduction : {"none", "add"}) {
    const std::string inputs = "%x: f32[5, M], %i: i64[N, M], %u: f32[N, M], %b: f32[5, M]";
    LoweringCase test = with_indices(-5, 4);
    test.sizes = {{"N", 7}, {"M", 3}};
    test.graphs = "graph @main(" + inputs +
                  ") -> (%r) {\n%r: f32[5, M] = Fused(%x, %i, %u, %b) {body = @body}\n}\ngraph "
                  "@body(" +
                  inputs +
                  ") -> (%r) fused {\n%n = Neg(%u)\n%s = ScatterElements(%x, %i, %n) {reduction = "
                  "\"" +
                  reduction + "\"}\n%r = Mul(%s, %b)\n}\n";
    EXPECT_EQ(lowering_difference(test), "") << reduction;
  }
}

// ---- MaxUnpool

TEST(ScatterLoweringTest, MaxUnpool) {
  const LoweringCase test = with_indices(0, 63);
  const std::string inputs = "%x: D[1, 1, 4, 4], %i: i64[1, 1, 4, 4]";
  expect_same({inputs, "", "%y = MaxUnpool(%x, %i) {kernel_shape = [2, 2], strides = [2, 2]}"},
              {"f32", "f64", "f16"}, kTwoSizes, test);
  expect_same({inputs, "%s = constant i64[4] [1, 1, 9, 10]",
               "%y = MaxUnpool(%x, %i, %s) {kernel_shape = [2, 2], strides = [2, 2]}"},
              {"f32"}, kTwoSizes, test);
  expect_same({"%x: f32[2, 3, 2], %i: i64[2, 3, 2]", "",
               "%y = MaxUnpool(%x, %i) {kernel_shape = [3], strides = [2], pads = [1, 0]}"},
              {"f32"}, kTwoSizes, with_indices(0, 23));
  expect_same({inputs, "", "%y = MaxUnpool(%x, %i) {kernel_shape = [2, 2], strides = [2, 2]}"},
              {"f32"}, kTwoSizes, with_indices(64, 70));
  expect_same({inputs, "", "%y = MaxUnpool(%x, %i) {kernel_shape = [2, 2], strides = [2, 2]}"},
              {"f32"}, kTwoSizes, with_indices(-4, -1));
}

}  // namespace
}  // namespace sluice::loop
