#include "common/loop/testing/node_form.h"

namespace sluice::loop {
namespace {

const std::vector<std::string> kIntegers = {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"};

// Compares a reduction over axes 1, over axes 0 and 2, and over all.
void expect_reduction(const std::string& op, double ulps, const Ranges& ranges,
                      const std::vector<std::string>& dtypes) {
  for (const std::string inputs :
       {"%x: D[2, 3, 4]", "%x: D[N, 3, M]", "%x: D[2, 0, 3]", "%x: D[1, 1, 1]"}) {
    expect_family(
        {inputs, "%y = " + op + "(%x, %k)", ulps, ranges, dtypes, "%k = constant i64[1] [-2]\n"});
    expect_family({inputs, "%y = " + op + "(%x, %k) {keepdims = 0}", ulps, ranges, dtypes,
                   "%k = constant i64[2] [0, -1]\n"});
    expect_family({inputs, "%y = " + op + "(%x)", ulps, ranges, dtypes});
  }
  expect_family({"%x: D[]", "%y = " + op + "(%x)", ulps, ranges, dtypes});
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
  expect_family({"%x: D[N, M]", "%y = ReduceMean(%x) {noop_with_empty_axes = 1}", 4});
  expect_family({"%x: D[2, 3]",
                 "%y = ReduceL2(%x, %k) {noop_with_empty_axes = 1}",
                 4,
                 {},
                 {"f32", "i32"},
                 "%k = constant i64[0] []\n"});
  expect_family(
      {"%x: D[2, 3]", "%y = ReduceL2(%x, %k)", 4, {}, {"f32", "i32"}, "%k = constant i64[0] []\n"});
}

// A body that gives %a, %b and %c of x, a value D[N, 6, M]; the dims of these are given.
LoweringCase three_results(const std::string& dims, const std::string& body,
                           const std::string& dtype) {
  const std::string x = "(%x: D[N, 6, M])", type = ": D[" + dims + "]";
  const std::string results = "%a" + type + ", %b" + type + ", %c" + type;
  const std::string text = "graph @main" + x + " -> (%a, %b, %c) {\n" + results +
                           " = Fused(%x) {body = @body}\n}\ngraph @body" + x +
                           " -> (%a, %b, %c) fused {\n" + body + "\n}\n";
  return {with_dtype(text, dtype), {{"N", 4}, {"M", 9}}};
}

TEST(ReductionTest, SeveralOfTheSameElements) {
  for (const std::string dtype : {"f32", "f16", "i8", "i64"}) {
    const LoweringCase test =
        three_results("N, 1, M",
                      "%k = constant i64[1] [1]\n%n = Neg(%x)\n%a = ReduceMin(%n, %k)\n"
                      "%b = ReduceMax(%n, %k)\n%c = ReduceMin(%n, %k)",
                      dtype);
    EXPECT_EQ(lowering_difference(test), "") << dtype;
  }
  EXPECT_EQ(lowering_difference(three_results("",
                                              "%a = ReduceMax(%x) {keepdims = 0}\n"
                                              "%b = ReduceSum(%x) {keepdims = 0}\n"
                                              "%c = ReduceProd(%x) {keepdims = 0}",
                                              "i32")),
            "");
}

// Other loops in the same body, and loops that read their results, are refused.
TEST(ReductionTest, SeveralOfOtherElements) {
  const std::string k = "%k = constant i64[1] [1]\n%a = ReduceMin(%x, %k)\n";
  for (const std::string others :
       {"%n = Neg(%x)\n%b = ReduceMax(%n, %k)\n%c = Abs(%b)",
        "%b = ReduceMax(%x, %k)\n%c = Abs(%b)", "%b = ReduceMean(%x, %k)\n%c = ReduceMean(%x, %k)"})
    EXPECT_NE(lowering_difference(three_results("N, 1, M", k + others, "f32"))
                  .find("more than one node with loops of its own"),
              std::string::npos)
        << others;
}

// A reduction whose axes are an operand; the result's dims are given.
struct OpenCase {
  std::string from, to;  // dims
  std::vector<int64_t> axes;
  std::string attributes = {};
};

LoweringCase with_axes(const std::string& op, const std::string& dtype, const OpenCase& open) {
  const auto count = static_cast<int64_t>(open.axes.size());
  LoweringCase test{
      one_node(fmt::format("%x: {}[{}], %k: i64[{}]", dtype, open.from, count),
               fmt::format("%y: {}[{}] = {}(%x, %k) {{{}}}", dtype, open.to, op, open.attributes)),
      {{"N", 3}, {"M", 5}}};
  test.ulps = 64;
  test.ranges["x"] = {0.5, 2};
  test.values["k"] = integers(open.axes, {count});
  return test;
}

const std::vector<OpenCase> kOpenCases = {
    {"2, 3, 4", "2, 1, 4", {1}},
    {"2, 3, 4", "2, 1, 4", {-2}},
    {"2, 3, 4", "1, 3, 1", {2, 0}},
    {"2, 3, 4", "1, 1, 1", {-1, 1, 0}},
    {"1, 3, 1", "1, 1, 1", {1}},
    {"N, 3, M", "N, 1, M", {1}},
    {"N, 3, M", "1, 3, 1", {0, -1}},
    {"2, 3, 4", "2, 4", {1}, "keepdims = 0"},
    {"2, 3, 4", "", {0, 1, 2}, "keepdims = 0"},
    {"3, 2, 2", "3, 2", {1}, "keepdims = 0"},
    {"3, 2, 2", "3, 2", {-1}, "keepdims = 0"},
    {"2, 3, 2, 3", "2, 3", {0, 1}, "keepdims = 0"},
    {"2, 3, 2, 3", "2, 3", {1, 2}, "keepdims = 0"},
    {"2, 3, 2, 3", "2, 3", {-1, -2}, "keepdims = 0"},
    {"2, 1, 1, 3", "2, 1, 3", {2}, "keepdims = 0"},
    {"N, 3, M", "N, 3", {2}, "keepdims = 0"},
    {"N, 3, M", "3", {0, 2}, "keepdims = 0"},
    {"2, 0, 4", "2, 1, 4", {1}},
    {"2, 0, 4", "2, 0, 1", {2}},
    {"2, 0, 4", "2, 4", {1}, "keepdims = 0"},
    {"2, 0, 2", "2", {1, 2}, "keepdims = 0"},
    {"2, 3, 4", "1, 1, 1", {}},
    {"2, 3, 4", "2, 3, 4", {}, "noop_with_empty_axes = 1"},
};

TEST(ReductionTest, AxesOfAnOperand) {
  for (const std::string op :
       {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMean", "ReduceL2", "ReduceLogSumExp"}) {
    for (const OpenCase& open : kOpenCases)
      EXPECT_EQ(lowering_difference(with_axes(op, "f32", open)), "")
          << op << " " << open.from << " to " << open.to;
  }
  for (const OpenCase& open : kOpenCases)
    EXPECT_EQ(lowering_difference(with_axes("ReduceSumSquare", "i32", open)), "")
        << open.from << " to " << open.to;
}

// The reference refuses axes that the input has not; others would give a result of another shape.
TEST(ReductionTest, AxesThatDoNotFit) {
  for (const OpenCase& open : std::vector<OpenCase>{{"2, 3, 4", "2, 1, 4", {3}},
                                                    {"2, 3, 4", "2, 1, 4", {-4}},
                                                    {"3, 2, 2", "3, 2", {7}, "keepdims = 0"}})
    EXPECT_EQ(lowering_difference(with_axes("ReduceSum", "f32", open)), "") << open.to;
  for (const OpenCase& open : std::vector<OpenCase>{{"2, 3, 4", "2, 1, 4", {0}},
                                                    {"2, 3, 3", "2, 1, 3", {2}},
                                                    {"2, 3, 4", "2, 4", {0}, "keepdims = 0"},
                                                    {"3, 2, 2", "3, 2", {0}, "keepdims = 0"},
                                                    {"2, 3, 2, 3", "2, 3", {1, 1}, "keepdims = 0"}})
    EXPECT_TRUE(
        lowering_difference(with_axes("ReduceSum", "f32", open)).starts_with("the loops fail"))
        << open.from << " to " << open.to;
}

TEST(ReductionTest, Positions) {
  std::vector<std::string> dtypes = kIntegers;
  dtypes.insert(dtypes.end(), {"f32", "f64", "f16", "bf16"});
  for (const std::string op : {"ArgMax", "ArgMin"}) {
    for (const std::string attributes :
         {"axis = 0", "axis = -1, keepdims = 0", "axis = 1, select_last_index = 1"}) {
      for (const std::string inputs : {"%x: D[4, 6]", "%x: D[N, M]", "%x: D[3, 40]"})
        expect_family({.inputs = inputs,
                       .node = "%y = " + op + "(%x) {" + attributes + "}",
                       .dtypes = dtypes,
                       .sizes = {{{"N", 2}, {"M", 9}}, {{"N", 1}, {"M", 7}}}});  // none is empty
    }
  }
}

}  // namespace
}  // namespace sluice::loop
