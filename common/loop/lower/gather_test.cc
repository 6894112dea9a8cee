#include "common/loop/testing/node_form.h"

namespace sluice::loop {
namespace {

// ---- Gather

TEST(GatherLoweringTest, Gather) {
  const LoweringCase five = with_indices(-5, 4), four = with_indices(-4, 3);
  expect_same({"%x: D[5, M], %i: i64[2, N]", "", "%y = Gather(%x, %i)"}, kAllDtypes, kTwoSizes,
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

TEST(GatherLoweringTest, IndicesOutOfRangeAreFaults) {
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

TEST(GatherLoweringTest, GatherElements) {
  const LoweringCase three = with_indices(-3, 2);
  expect_same({"%x: D[3, M], %i: i64[5, M]", "", "%y = GatherElements(%x, %i)"}, kAllDtypes,
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

TEST(GatherLoweringTest, GatherND) {
  const LoweringCase two = with_indices(-2, 1);
  expect_same({"%x: D[2, 3, M], %i: i64[N, 1]", "", "%y = GatherND(%x, %i)"}, kAllDtypes, kTwoSizes,
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

TEST(GatherLoweringTest, TensorScatter) {
  const std::string inputs = "%x: D[M, 6, 2], %u: D[M, 3, 2], %i: i64[M]";
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

TEST(GatherLoweringTest, OneHot) {
  for (const std::string dtype : {"i64", "i32", "f32", "u8", "f16"}) {
    const LoweringCase test = with_indices(dtype == "u8" ? 0 : -7, 7);
    const std::string inputs = "%i: " + dtype + "[N, M], %v: D[2]",
                      depth = "%d = constant i64[] [5]";
    expect_same({inputs, depth, "%y = OneHot(%i, %d, %v)"}, kSomeDtypes, kTwoSizes, test);
    expect_same({inputs, depth, "%y = OneHot(%i, %d, %v) {axis = 1}"}, kSomeDtypes, kTwoSizes,
                test);
    expect_same({inputs, depth, "%y = OneHot(%i, %d, %v) {axis = 0}"}, {"f32"}, kTwoSizes, test);
  }
  const std::string values = "%d = constant f32[1] [3]\n%v = constant D[2] [2, 7]";
  expect_same({"%i: i64[]", values, "%y = OneHot(%i, %d, %v)"}, {"f32", "i32", "f16"}, kTwoSizes,
              with_indices(-3, 2));
  expect_same({"%i: i64[0]", values, "%y = OneHot(%i, %d, %v)"}, {"f32", "i32"}, kTwoSizes,
              with_indices(-3, 2));
}

}  // namespace
}  // namespace sluice::loop
