#include "common/loop/lower/family_testing.h"

namespace sluice::loop {
namespace {

const std::vector<std::string> kIntegers = {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"};
using Ranges = std::map<std::string, std::pair<double, double>>;

// Compares a reduction over axes 1, over axes 0 and 2, and over all.
void expect_reduction(const std::string& op, double ulps, const Ranges& ranges,
                      const std::vector<std::string>& dtypes) {
  for (const std::string inputs :
       {"%x: D[2, 3, 4]", "%x: D[N, 3, M]", "%x: D[2, 0, 3]", "%x: D[1, 1, 1]"}) {
    expect_same(
        {inputs, "%y = " + op + "(%x, %k)", ulps, ranges, dtypes, "%k = constant i64[1] [-2]\n"});
    expect_same({inputs, "%y = " + op + "(%x, %k) {keepdims = 0}", ulps, ranges, dtypes,
                 "%k = constant i64[2] [0, -1]\n"});
    expect_same({inputs, "%y = " + op + "(%x)", ulps, ranges, dtypes});
  }
  expect_same({"%x: D[]", "%y = " + op + "(%x)", ulps, ranges, dtypes});
}

TEST(ReductionTest, Floats) {
  const std::vector<std::string> floats = {"f32", "f64", "f16", "bf16"};
  for (const std::string op : {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                               "ReduceSumSquare", "ReduceMean", "ReduceLogSumExp"})
    expect_reduction(op, 64, {}, floats);
  for (const std::string op : {"ReduceProd", "ReduceLogSum"})
    expect_reduction(op, 64, {{"x", {0.75, 1.25}}}, floats);
}

TEST(ReductionTest, Integers) {
  for (const std::string op : {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1",
                               "ReduceL2", "ReduceSumSquare", "ReduceMean"})
    expect_reduction(op, 0, {}, kIntegers);
  expect_reduction("ReduceLogSum", 0, {{"x", {1, 9}}}, kIntegers);
  expect_reduction("ReduceLogSumExp", 0, {{"x", {0, 9}}}, kIntegers);
}

TEST(ReductionTest, Bools) {
  expect_reduction("ReduceMax", 0, {}, {"bool"});
  expect_reduction("ReduceMin", 0, {}, {"bool"});
}

TEST(ReductionTest, WithoutAxes) {
  expect_same({"%x: D[N, M]", "%y = ReduceMean(%x) {noop_with_empty_axes = 1}", 4});
  expect_same({"%x: D[2, 3]",
               "%y = ReduceL2(%x, %k) {noop_with_empty_axes = 1}",
               4,
               {},
               {"f32", "i32"},
               "%k = constant i64[0] []\n"});
  expect_same(
      {"%x: D[2, 3]", "%y = ReduceL2(%x, %k)", 4, {}, {"f32", "i32"}, "%k = constant i64[0] []\n"});
}

TEST(ReductionTest, Positions) {
  std::vector<std::string> dtypes = kIntegers;
  dtypes.insert(dtypes.end(), {"f32", "f64", "f16", "bf16"});
  for (const std::string op : {"ArgMax", "ArgMin"}) {
    for (const std::string attributes :
         {"axis = 0", "axis = -1, keepdims = 0", "axis = 1, select_last_index = 1"}) {
      for (const std::string inputs : {"%x: D[4, 6]", "%x: D[N, M]", "%x: D[3, 40]"})
        expect_same({inputs, "%y = " + op + "(%x) {" + attributes + "}", 0, {}, dtypes});
    }
  }
}

}  // namespace
}  // namespace sluice::loop
