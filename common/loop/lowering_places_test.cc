#include <gtest/gtest.h>

#include "common/base/result.h"
#include "common/loop/lowering_rows_testing.h"

namespace sluice::loop {
namespace {

LoweringCase with_indices(double low, double high) {
  LoweringCase test;
  test.ranges = {{"i", {low, high}}};
  return test;
}

// ---- Gather

TEST(LoweringPlacesTest, Gather) {
  const LoweringCase five = with_indices(-5, 4), four = with_indices(-4, 3);
  expect_same({"%x: T[5, M], %i: i64[2, N]", "", "%y = Gather(%x, %i)"}, kAllDtypes, kTwoSizes,
              five);
  for (const std::string dtype : {"i32", "i64"})
    expect_same({"%x: f32[N, 5, M], %i: " + dtype + "[3]", "", "%y = Gather(%x, %i) {axis = -2}"},
                {"f32"}, kTwoSizes, five);
  expect_same({"%x: f32[N, M], %i: i64[]", "", "%y = Gather(%x, %i)"}, {"f32"}, kTwoSizes, four);
  expect_same({"%x: f32[N, M, 4], %i: i64[2]", "", "%y = Gather(%x, %i) {axis = 2}"}, {"f32"},
              kTwoSizes, four);
  expect_same({"%x: f32[N, M]", "%i = constant i64[3] [0, -1, 2]", "%y = Gather(%x, %i)"});
  expect_same({"%x: f32[N, M]", "%i = constant i64[] [-2]", "%y = Gather(%x, %i)"});
  expect_same({"%x: f32[5, M]", "%i = constant i64[] [-2]", "%y = Gather(%x, %i)"});
  expect_same({"%x: f32[N, M], %i: i64[0]", "", "%y = Gather(%x, %i)"});
  expect_same({"%x: f32[2, 1, 4, 1, 2, 2, 1], %i: i64[2, 2]", "", "%y = Gather(%x, %i) {axis = 2}"},
              {"f32"}, kTwoSizes, four);
  expect_same({"%x: f32[1, M], %i: i64[4]", "", "%y = Gather(%x, %i)"}, {"f32"}, kTwoSizes,
              with_indices(-1, 0));
}

TEST(LoweringPlacesTest, IndicesOutOfRangeAreFaults) {
  const std::vector<Sizes> empty = {{{"N", 0}, {"M", 3}}};
  const LoweringCase far = with_indices(5, 9), low = with_indices(-9, -6);
  for (const LoweringCase& test : {far, low}) {
    expect_same({"%x: f32[5, M], %i: i64[4]", "", "%y = Gather(%x, %i)"}, {"f32"}, kTwoSizes, test);
    expect_same({"%x: f32[N, M], %i: i64[4]", "", "%y = Gather(%x, %i)"}, {"f32"}, empty, test);
    expect_same({"%x: f32[5, M], %i: i64[5, M]", "", "%y = GatherElements(%x, %i)"}, {"f32"},
                kTwoSizes, test);
    expect_same({"%x: f32[5, M], %i: i64[5, 1]", "", "%y = GatherND(%x, %i)"}, {"f32"}, kTwoSizes,
                test);
    expect_same(
        {"%x: f32[5, M], %i: i64[2, M], %u: f32[2, M]", "", "%y = ScatterElements(%x, %i, %u)"},
        {"f32"}, kTwoSizes, test);
    expect_same({"%x: f32[5, M], %i: i64[2, 1], %u: f32[2, M]", "", "%y = ScatterND(%x, %i, %u)"},
                {"f32"}, kTwoSizes, test);
    expect_same({"%x: f32[2, 5], %u: f32[2, 2], %i: i64[2]", "",
                 "%y = TensorScatter(%x, %u, %i) {axis = 1}"},
                {"f32"}, kTwoSizes, test);
  }
}

TEST(LoweringPlacesTest, GatherElements) {
  const LoweringCase three = with_indices(-3, 2);
  expect_same({"%x: T[3, M], %i: i64[5, M]", "", "%y = GatherElements(%x, %i)"}, kAllDtypes,
              kTwoSizes, three);
  expect_same({"%x: f32[N, 3], %i: i32[N, M]", "", "%y = GatherElements(%x, %i) {axis = -1}"},
              {"f32"}, kTwoSizes, three);
  expect_same({"%x: f32[4, 3, 2], %i: i64[3, 5, 1]", "", "%y = GatherElements(%x, %i) {axis = 1}"},
              {"f32"}, kTwoSizes, three);
  expect_same({"%x: f32[N, M], %i: i64[3, M]", "", "%y = GatherElements(%x, %i)"}, {"f32"},
              kTwoSizes, three);
  expect_same({"%x: f32[N, 3], %i: i64[M, 2]", "", "%y = GatherElements(%x, %i) {axis = 1}"},
              {"f32"}, kTwoSizes, three);
  expect_same({"%x: f32[3], %i: i64[0]", "", "%y = GatherElements(%x, %i)"}, {"f32"}, kTwoSizes,
              three);
  expect_same({"%x: f32[1, 2, 1, 2, 1, 2, 3, 1], %i: i64[1, 2, 1, 2, 1, 2, 4, 1]", "",
               "%y = GatherElements(%x, %i) {axis = 6}"},
              {"f32"}, kTwoSizes, three);
  expect_same(
      {"%x: f32[3, 2]", "%i = constant i64[2, 2] [0, -1, 2, 1]", "%y = GatherElements(%x, %i)"});
}

TEST(LoweringPlacesTest, GatherND) {
  const LoweringCase two = with_indices(-2, 1);
  expect_same({"%x: T[2, 3, M], %i: i64[N, 1]", "", "%y = GatherND(%x, %i)"}, kAllDtypes, kTwoSizes,
              two);
  expect_same({"%x: f32[2, 3, M], %i: i64[N, 3]", "", "%y = GatherND(%x, %i)"}, {"f32"}, kTwoSizes,
              two);
  expect_same({"%x: f32[2, 3, M], %i: i64[2, N, 2]", "", "%y = GatherND(%x, %i)"}, {"f32"},
              kTwoSizes, two);
  expect_same({"%x: f32[M, 2, N], %i: i64[M, 4, 1]", "", "%y = GatherND(%x, %i) {batch_dims = 1}"},
              {"f32"}, kTwoSizes, two);
  expect_same(
      {"%x: f32[M, 2, 2, 2], %i: i64[M, 2, 2]", "", "%y = GatherND(%x, %i) {batch_dims = 2}"},
      {"f32"}, kTwoSizes, two);
  expect_same({"%x: f32[M, 2], %i: i64[M, 1]", "", "%y = GatherND(%x, %i) {batch_dims = 1}"},
              {"f32"}, kTwoSizes, two);
  expect_same({"%x: f32[N, M], %i: i64[2]", "", "%y = GatherND(%x, %i)"}, {"f32"}, kTwoSizes, two);
  expect_same({"%x: f32[N, M], %i: i64[0, 2]", "", "%y = GatherND(%x, %i)"}, {"f32"}, kTwoSizes,
              two);
  expect_same({"%x: f32[2, 2]", "%i = constant i64[2, 2] [0, 0, 1, -1]", "%y = GatherND(%x, %i)"});
}

// ---- scatters

TEST(LoweringPlacesTest, ScatterElements) {
  const LoweringCase three = with_indices(-3, 2);
  const std::string inputs = "%x: T[3, M], %i: i64[5, M], %u: T[5, M]";
  expect_same({inputs, "", "%y = ScatterElements(%x, %i, %u)"}, kAllDtypes, kTwoSizes, three);
  expect_same({inputs, "", "%y = Scatter(%x, %i, %u)"}, kSomeDtypes, kTwoSizes, three);
  const std::vector<std::string> numbers = {"f32", "f64", "f16", "bf16", "i8",
                                            "i32", "i64", "u8",  "u64"};
  for (const std::string reduction : {"add", "mul", "max", "min"}) {
    const std::string node = "%y = ScatterElements(%x, %i, %u) {reduction = \"" + reduction + "\"";
    expect_same({inputs, "", node + "}"}, numbers, kTwoSizes, three);
    expect_same({"%x: f32[N, 3], %i: i32[N, M], %u: f32[N, M]", "", node + ", axis = -1}"}, {"f32"},
                kTwoSizes, three);
    expect_same({"%x: T[4, 3, 2], %i: i64[3, 5, 1], %u: T[3, 5, 1]", "", node + ", axis = 1}"},
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

TEST(LoweringPlacesTest, ScatterND) {
  const LoweringCase two = with_indices(-2, 1);
  const std::string inputs = "%x: T[2, 3, M], %i: i64[N, 1], %u: T[N, 3, M]";
  expect_same({inputs, "", "%y = ScatterND(%x, %i, %u)"}, kAllDtypes, kTwoSizes, two);
  const std::vector<std::string> numbers = {"f32", "f64", "f16", "bf16",
                                            "i16", "i64", "u32", "u64"};
  for (const std::string reduction : {"none", "add", "mul", "max", "min"}) {
    const std::string node = "%y = ScatterND(%x, %i, %u) {reduction = \"" + reduction + "\"}";
    expect_same({inputs, "", node}, numbers, kTwoSizes, two);
    expect_same({"%x: T[2, 3, 2], %i: i64[N, 3], %u: T[N]", "", node}, {"f32", "f16"}, kTwoSizes,
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
TEST(LoweringPlacesTest, ScatterInBodies) {
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

TEST(LoweringPlacesTest, TensorScatter) {
  const std::string inputs = "%x: T[M, 6, 2], %u: T[M, 3, 2], %i: i64[M]";
  for (const std::string mode : {"linear", "circular"}) {
    const std::string node = "%y = TensorScatter(%x, %u, %i) {mode = \"" + mode + "\"";
    const LoweringCase test = with_indices(0, mode == "linear" ? 3 : 20);
    expect_same({inputs, "", node + "}"}, kAllDtypes, kTwoSizes, test);
    expect_same({"%x: f32[2, N], %u: f32[2, 1], %i: i64[2]", "", node + ", axis = 1}"}, {"f32"},
                kTwoSizes, test);
    expect_same({"%x: f32[2, M, N, 3], %u: f32[2, M, 2, 3], %i: i64[2]", "", node + "}"}, {"f32"},
                kTwoSizes, test);
    expect_same({"%x: f32[M, 6, 2], %u: f32[M, 3, 2]", "",
                 "%y = TensorScatter(%x, %u) {mode = \"" + mode + "\"}"});
    expect_same({"%x: f32[M, 6, 2], %u: f32[M, 0, 2], %i: i64[M]", "", node + "}"}, {"f32"},
                kTwoSizes, with_indices(0, 3));
  }
  const std::string circular = "%y = TensorScatter(%x, %u, %i) {mode = \"circular\"}";
  expect_same({"%x: f32[M, 3, 2], %u: f32[M, 7, 2], %i: i64[M]", "", circular}, {"f32"}, kTwoSizes,
              with_indices(0, 5));
  expect_same({"%x: f32[2, N, 2], %u: f32[2, M, 2], %i: i64[2]", "", circular}, {"f32"},
              {{{"N", 3}, {"M", 8}}, {{"N", 8}, {"M", 3}}}, with_indices(0, 5));
}

TEST(LoweringPlacesTest, OneHot) {
  for (const std::string dtype : {"i64", "i32", "f32", "u8", "f16"}) {
    const LoweringCase test = with_indices(dtype == "u8" ? 0 : -7, 7);
    const std::string inputs = "%i: " + dtype + "[N, M], %v: T[2]",
                      depth = "%d = constant i64[] [5]";
    expect_same({inputs, depth, "%y = OneHot(%i, %d, %v)"}, kSomeDtypes, kTwoSizes, test);
    expect_same({inputs, depth, "%y = OneHot(%i, %d, %v) {axis = 1}"}, kSomeDtypes, kTwoSizes,
                test);
    expect_same({inputs, depth, "%y = OneHot(%i, %d, %v) {axis = 0}"}, {"f32"}, kTwoSizes, test);
  }
  const std::string values = "%d = constant f32[1] [3]\n%v = constant T[2] [2, 7]";
  expect_same({"%i: i64[]", values, "%y = OneHot(%i, %d, %v)"}, {"f32", "i32", "f16"}, kTwoSizes,
              with_indices(-3, 2));
  expect_same({"%i: i64[0]", values, "%y = OneHot(%i, %d, %v)"}, {"f32", "i32"}, kTwoSizes,
              with_indices(-3, 2));
}

// ---- MaxUnpool

TEST(LoweringPlacesTest, MaxUnpool) {
  const LoweringCase test = with_indices(0, 63);
  const std::string inputs = "%x: T[1, 1, 4, 4], %i: i64[1, 1, 4, 4]";
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

// ---- CumSum, CumProd

TEST(LoweringPlacesTest, Cumulative) {
  LoweringCase test;
  test.ulps = 16;
  for (const std::string op : {"CumSum", "CumProd"}) {
    for (const std::string attributes :
         {"exclusive = 0", "exclusive = 1", "reverse = 1", "exclusive = 1, reverse = 1"}) {
      const std::string node = "%y = " + op + "(%x, %a) {" + attributes + "}";
      test.ranges = {{"x", {-2, 2}}};
      expect_same({"%x: T[N, 3]", "%a = constant i64[] [0]", node},
                  {"f32", "f64", "f16", "i32", "i64", "u32", "i8"}, kTwoSizes, test);
      expect_same({"%x: f32[N, M, 2]", "%a = constant i32[1] [-2]", node}, {"f32"}, kTwoSizes,
                  test);
      expect_same({"%x: f32[0, 2]", "%a = constant i64[] [1]", node}, {"f32"}, kTwoSizes, test);
      expect_same({"%x: f32[2, 0]", "%a = constant i64[] [1]", node}, {"f32"}, kTwoSizes, test);
      expect_same({"%x: f32[7]", "%a = constant i64[] [0]", node}, {"f32"}, kTwoSizes, test);
    }
  }
}

}  // namespace
}  // namespace sluice::loop
