#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "common/base/result.h"
#include "common/loop/testing/lowering_case.h"

namespace sluice::loop {
namespace {

using Sizes = std::map<std::string, int64_t>;

// Compares a node at several sizes of its symbols and for several seeds.
void expect_same(LoweringCase test, const std::string& what) {
  for (const Sizes& sizes :
       {Sizes{{"N", 5}, {"M", 3}}, Sizes{{"N", 1}, {"M", 7}}, Sizes{{"N", 0}, {"M", 4}}}) {
    test.sizes = sizes;
    for (test.seed = 1; test.seed <= 3; ++test.seed)
      EXPECT_EQ(lowering_difference(test), "")
          << what << ", N " << sizes.at("N") << ", seed " << test.seed;
  }
}

std::string x_of(const std::string& dtype, const std::string& dims) {
  return "%x: " + dtype + "[" + dims + "]";
}

// ---- elementwise, one input

struct FloatRow {
  std::string call;
  double ulps;
};

TEST(LoweringUnaryTest, Floats) {
  const FloatRow rows[] = {
      {"Abs(%x)", 0},
      {"Neg(%x)", 0},
      {"Sign(%x)", 0},
      {"Relu(%x)", 0},
      {"Sqrt(%x)", 0},
      {"Reciprocal(%x)", 0},
      {"Floor(%x)", 0},
      {"Ceil(%x)", 0},
      {"Round(%x)", 0},
      {"Identity(%x)", 0},
      {"Exp(%x)", 4},
      {"Log(%x)", 4},
      {"Erf(%x)", 4},
      {"Sin(%x)", 4},
      {"Cos(%x)", 4},
      {"Tan(%x)", 4},
      {"Asin(%x)", 4},
      {"Acos(%x)", 4},
      {"Atan(%x)", 4},
      {"Sinh(%x)", 4},
      {"Cosh(%x)", 4},
      {"Tanh(%x)", 4},
      {"Asinh(%x)", 4},
      {"Acosh(%x)", 4},
      {"Atanh(%x)", 4},
      {"Sigmoid(%x)", 4},
      {"Softplus(%x)", 4},
      {"Softsign(%x)", 0},
      {"Mish(%x)", 8},
      {"Swish(%x)", 8},
      {"Swish(%x) {alpha = 1.7}", 8},
      {"HardSigmoid(%x)", 4},
      {"HardSwish(%x)", 4},
      {"Elu(%x) {alpha = 0.5}", 4},
      {"Selu(%x)", 8},
      {"Celu(%x) {alpha = 2.0}", 8},
      {"LeakyRelu(%x) {alpha = 0.1}", 0},
      {"ThresholdedRelu(%x) {alpha = 0.5}", 0},
      {"Shrink(%x) {bias = 0.25, lambd = 0.5}", 0},
      {"Gelu(%x)", 8},
      {"Gelu(%x) {approximate = \"tanh\"}", 8},
      {"Dropout(%x)", 0},
      {"IsNaN(%x)", 0},
      {"IsInf(%x)", 0},
      {"IsInf(%x) {detect_negative = 0}", 0},
      {"IsInf(%x) {detect_positive = 0}", 0},
  };
  for (const FloatRow& row : rows) {
    for (const std::string dtype : {"f32", "f64", "f16", "bf16"}) {
      LoweringCase test{one_node(x_of(dtype, "N, 17"), "%y = " + row.call)};
      test.ulps = row.ulps;
      expect_same(test, row.call + " of " + dtype);
    }
  }
}

TEST(LoweringUnaryTest, Integers) {
  const std::string dtypes[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};
  for (const std::string& dtype : dtypes) {
    for (const std::string op : {"Abs", "Neg", "Sign", "Relu", "BitwiseNot", "Identity"}) {
      const bool is_signed = dtype[0] == 'i' || op == "BitwiseNot" || op == "Identity";
      if (!is_signed) continue;
      expect_same({one_node(x_of(dtype, "N, 23"), "%y = " + op + "(%x)")}, op + " of " + dtype);
    }
  }
  expect_same({one_node(x_of("bool", "N, 23"), "%y = Not(%x)")}, "Not");
  expect_same({one_node(x_of("i32", "N, 9"), "%y = Shrink(%x) {bias = 1.5, lambd = 2.5}")},
              "Shrink of i32");
}

TEST(LoweringUnaryTest, Clip) {
  for (const std::string dtype : {"f32", "f64", "f16", "i8", "i64", "u8", "u64"}) {
    const std::string inputs =
        x_of(dtype, "N, 9") + ", %low: " + dtype + "[], %high: " + dtype + "[]";
    LoweringCase test{one_node(inputs, "%y = Clip(%x, %low, %high)")};
    test.ranges = {{"low", {1, 2}}, {"high", {3, 4}}};
    expect_same(test, "Clip of " + dtype);
    test.graphs = one_node(inputs, "%y = Clip(%x, _, %high)");
    expect_same(test, "Clip from above of " + dtype);
    test.graphs = one_node(inputs, "%y = Clip(%x, %low)");
    expect_same(test, "Clip from below of " + dtype);
  }
}

// ---- elementwise, more inputs

// Operands of the same dtype, broadcast in several ways.
std::vector<std::string> pairs(const std::string& dtype) {
  const std::pair<const char*, const char*> dims[] = {
      {"N, 7", "N, 7"}, {"N, 7", "7"}, {"N, 7", ""}, {"1, 7", "N, 1"}, {"M, 1, N", "M, 5, 1"}};
  std::vector<std::string> result;
  for (const auto& [a, b] : dims)
    result.push_back(fmt::format("%a: {0}[{1}], %b: {0}[{2}]", dtype, a, b));
  return result;
}

void expect_pairs(const std::string& call, const std::string& dtype, double ulps = 0,
                  bool from_one = false) {
  for (const std::string& inputs : pairs(dtype)) {
    LoweringCase test{one_node(inputs, "%y = " + call)};
    test.ulps = ulps;
    if (from_one) test.ranges["b"] = {1, 9};
    expect_same(test, call + " of " + inputs);
  }
}

TEST(LoweringBinaryTest, Arithmetic) {
  for (const std::string dtype :
       {"f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}) {
    for (const std::string op : {"Add", "Sub", "Mul", "Max", "Min", "PRelu"}) {
      if (op == "PRelu") {
        expect_same(
            {one_node(x_of(dtype, "N, 7") + ", %s: " + dtype + "[7]", "%y = PRelu(%x, %s)")},
            "PRelu of " + dtype);
      } else {
        expect_pairs(op + "(%a, %b)", dtype);
      }
    }
  }
}

TEST(LoweringBinaryTest, Divisions) {
  for (const std::string dtype : {"f32", "f64", "f16", "bf16"}) {
    expect_pairs("Div(%a, %b)", dtype);
    expect_pairs("Mod(%a, %b) {fmod = 1}", dtype);
  }
  for (const std::string dtype : {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}) {
    for (const std::string call : {"Div(%a, %b)", "Mod(%a, %b)", "Mod(%a, %b) {fmod = 1}"}) {
      expect_pairs(call, dtype, 0, true);
    }
  }
  LoweringCase test{one_node("%a: i32[N, 7], %b: i32[7]", "%y = Mod(%a, %b)")};
  test.sizes = {{"N", 5}};
  test.ranges["b"] = {0, 1};
  EXPECT_EQ(lowering_difference(test), "") << "a division by zero: both fail";
  test.ranges["b"] = {-9, -1};
  expect_same(test, "Mod by negative numbers");
}

TEST(LoweringBinaryTest, Powers) {
  for (const std::string dtype : {"f32", "f64", "f16"}) expect_pairs("Pow(%a, %b)", dtype, 4);
  expect_same({one_node("%a: f32[N, 7], %b: i32[7]", "%y = Pow(%a, %b)"), {}, 4}, "Pow of i32");
  for (const std::string exponent : {"1.0", "2.0", "3.0", "0.5"}) {
    const std::string constant = "%b = constant f32[] [" + exponent + "]\n";
    LoweringCase test{one_node("%a: f32[N, 7]", "%y = Pow(%a, %b)")};
    test.graphs.insert(test.graphs.find("%y = "), constant);
    test.ulps = 4;
    expect_same(test, "Pow with exponent " + exponent);
  }
}

TEST(LoweringBinaryTest, Variadic) {
  for (const std::string dtype : {"f32", "f64", "f16"}) {
    const std::string inputs =
        "%a: " + dtype + "[N, 7], %b: " + dtype + "[7], %c: " + dtype + "[N, 1]";
    for (const std::string op : {"Sum", "Mean", "Max", "Min"}) {
      LoweringCase test{one_node(inputs, "%y = " + op + "(%a, %b, %c)")};
      test.ulps = dtype == "f16" ? 2 : 0;  // the evaluator rounds each partial result
      expect_same(test, op + " of three " + dtype);
      expect_same({one_node(inputs, "%y = " + op + "(%a)")}, op + " of one " + dtype);
    }
  }
}

TEST(LoweringBinaryTest, Bits) {
  for (const std::string op : {"And", "Or", "Xor"}) expect_pairs(op + "(%a, %b)", "bool");
  for (const std::string dtype : {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}) {
    for (const std::string op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
      expect_pairs(op + "(%a, %b)", dtype);
    if (dtype[0] == 'i') continue;
    for (const std::string direction : {"LEFT", "RIGHT"})
      expect_pairs("BitShift(%a, %b) {direction = \"" + direction + "\"}", dtype);
  }
}

TEST(LoweringBinaryTest, Comparisons) {
  for (const std::string dtype :
       {"f32", "f64", "f16", "bf16", "i8", "i32", "i64", "u8", "u64", "bool"}) {
    for (const std::string op : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
      if (dtype == "bool" && op != "Equal") continue;
      expect_pairs(op + "(%a, %b)", dtype);
    }
  }
}

TEST(LoweringBinaryTest, Where) {
  for (const std::string dtype : {"f32", "f64", "f16", "i8", "u16", "i64", "bool"}) {
    const std::string inputs = "%c: bool[N, 1], %a: " + dtype + "[7], %b: " + dtype + "[N, 7]";
    expect_same({one_node(inputs, "%y = Where(%c, %a, %b)")}, "Where of " + dtype);
  }
}

// ---- conversions

TEST(LoweringConversionTest, Casts) {
  const std::pair<const char*, int> dtypes[] = {
      {"f32", 1},  {"u8", 2},   {"i8", 3},   {"u16", 4},  {"i16", 5},  {"i32", 6},  {"i64", 7},
      {"bool", 9}, {"f16", 10}, {"f64", 11}, {"u32", 12}, {"u64", 13}, {"bf16", 16}};
  for (const auto& [from, unused] : dtypes) {
    for (const auto& [to, number] : dtypes) {
      LoweringCase test{
          one_node(x_of(from, "N, 37"), fmt::format("%y = Cast(%x) {{to = {}}}", number))};
      expect_same(test, fmt::format("Cast of {} to {}", from, to));
    }
  }
  expect_same({one_node("%x: f32[N], %like: i8[2]", "%y = CastLike(%x, %like)")}, "CastLike");
}

TEST(LoweringConversionTest, BitCasts) {
  const std::pair<const char*, int> pairs[] = {{"f32", 6}, {"i32", 1}, {"u32", 6}, {"f64", 7},
                                               {"u8", 3},  {"i16", 4}, {"i64", 11}};
  for (const auto& [from, to] : pairs)
    expect_same({one_node(x_of(from, "N, 9"), fmt::format("%y = BitCast(%x) {{to = {}}}", to))},
                std::string("BitCast of ") + from);
}

// ---- views

// A view whose second input is a constant list of integers.
std::string view(const std::string& inputs, const std::string& op, const std::string& list,
                 int64_t count) {
  std::string text = one_node(inputs, "%y = " + op + "(%x, %k)");
  text.insert(text.find("%y = "), fmt::format("%k = constant i64[{}] [{}]\n", count, list));
  return text;
}

TEST(LoweringViewTest, Reshapes) {
  expect_same({view("%x: f32[N, 6, 4]", "Reshape", "0, 2, 12", 3)}, "splits and joins");
  expect_same({view("%x: f32[N, 24]", "Reshape", "0, 2, 3, 4", 4)}, "splits");
  expect_same({view("%x: f32[M, 4, N]", "Reshape", "0, 2, 2, -1", 4)}, "splits in the middle");
  expect_same({view("%x: f32[6, 4]", "Reshape", "24", 1)}, "joins");
  expect_same({view("%x: i8[4, 9]", "Reshape", "6, 6", 2)}, "cuts anew");
  expect_same({view("%x: i8[1, 6, 1]", "Reshape", "3, 1, 2", 3)}, "ones");
  expect_same({view("%x: f16[N, 3]", "Unsqueeze", "0, 2", 2)}, "Unsqueeze");
  expect_same({view("%x: f16[1, N, 1, 3]", "Squeeze", "0, -2", 2)}, "Squeeze");
  expect_same({one_node("%x: f64[N, 3, 4]", "%y = Flatten(%x) {axis = 1}")}, "Flatten");
  expect_same({one_node("%x: f64[N, 3, 4]", "%y = Flatten(%x) {axis = 2}")}, "Flatten at 2");
  expect_same({one_node("%x: f64[2, 3, 4]", "%y = Flatten(%x) {axis = 0}")}, "Flatten at 0");
}

TEST(LoweringViewTest, TransposesAndExpands) {
  for (const std::string dtype : {"f32", "i8", "f16", "bool", "i64"}) {
    expect_same({one_node(x_of(dtype, "N, 3, M"), "%y = Transpose(%x)")}, "Transpose");
    expect_same({one_node(x_of(dtype, "N, 3, M"), "%y = Transpose(%x) {perm = [1, 2, 0]}")},
                "Transpose with perm");
    expect_same({view(x_of(dtype, "3, 1"), "Expand", "2, 3, 4", 3)}, "Expand");
  }
}

TEST(LoweringViewTest, OtherStorages) {
  expect_same({R"(graph @main(%x: f32[N, 3, 2, 5] storage nhwc [N, 2, 5, 3] bytes 120*N) -> (%y) {
  %y: f32[N, 3, 2, 5] storage nhwc [N, 2, 5, 3] bytes 120*N = Relu(%x)
}
)"},
              "nhwc");
  expect_same({R"(graph @main(%x: f32[N, 3] storage dense [16, 3] bytes 192) -> (%y) {
  %y: f32[3, N] storage dense [4, 16] bytes 256 = Transpose(%x)
}
)"},
              "in room for more");
}

// ---- reductions

struct ReduceRow {
  std::string op;
  double ulps;
  bool integers;
};

TEST(LoweringReductionTest, Reductions) {
  const ReduceRow rows[] = {{"ReduceSum", 64, true},       {"ReduceProd", 64, true},
                            {"ReduceMax", 0, true},        {"ReduceMin", 0, true},
                            {"ReduceL1", 64, true},        {"ReduceL2", 64, false},
                            {"ReduceSumSquare", 64, true}, {"ReduceLogSum", 64, false},
                            {"ReduceMean", 64, false},     {"ReduceLogSumExp", 64, false}};
  for (const ReduceRow& row : rows) {
    for (const std::string dtype : {"f32", "f64", "f16", "i32", "i64", "u64", "i8"}) {
      const bool is_float = dtype[0] == 'f';
      const bool is_narrow = dtype == "i8" && row.op != "ReduceMax" && row.op != "ReduceMin";
      if ((!is_float && !row.integers) || is_narrow) continue;
      LoweringCase test;
      test.ulps = is_float ? row.ulps : 0;
      const std::string what = row.op + " of " + dtype;
      for (const auto& [axes, count] :
           {std::pair<const char*, int>{"1", 1}, {"0, -1", 2}, {"0", 1}}) {
        test.graphs = view(x_of(dtype, "M, 5, N"), row.op, axes, count);
        expect_same(test, what + " over " + axes);
      }
      test.graphs = one_node(x_of(dtype, "M, 5"), "%y = " + row.op + "(%x) {keepdims = 0}");
      expect_same(test, what + " over all");
      test.graphs =
          one_node(x_of(dtype, "M, 5"), "%y = " + row.op + "(%x) {noop_with_empty_axes = 1}");
      expect_same(test, what + " over none");
    }
  }
}

TEST(LoweringReductionTest, Positions) {
  for (const std::string op : {"ArgMax", "ArgMin"}) {
    for (const std::string dtype : {"f32", "f64", "f16", "i8", "i32", "i64", "u8", "u64"}) {
      const std::pair<std::string, std::string> forms[] = {
          {"M, 9, N", "{axis = 1}"},
          {"M, N, 9", "{axis = -1, keepdims = 0}"},
          {"9, M, N", "{axis = 0, select_last_index = 1}"}};
      for (const auto& [dims, options] : forms)
        expect_same({one_node(x_of(dtype, dims), "%y = " + op + "(%x) " + options)},
                    op + " of " + dtype + " " + options);
    }
  }
  LoweringCase test{one_node("%x: f32[2, 4]", "%y = ArgMax(%x) {axis = 1}")};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor x = make_tensor(DType::kF32, {2, 4});
  const float values[] = {nan, 5, 7, nan, 1, nan, 7, 3};
  std::copy(std::begin(values), std::end(values), x.as<float>().begin());
  test.values["x"] = std::move(x);
  expect_same(test, "NaN");
}

TEST(LoweringSoftmaxTest, Rows) {
  for (const std::string op : {"Softmax", "LogSoftmax"}) {
    for (const std::string dtype : {"f32", "f64", "f16", "bf16"}) {
      for (const std::string dims : {"N, 9", "M, 3, N", "N, 20000", "N, M, 1"}) {
        for (const std::string axis : {"-1", "1"}) {
          LoweringCase test{
              one_node(x_of(dtype, dims), "%y = " + op + "(%x) {axis = " + axis + "}")};
          test.ulps = dims == "N, 20000" ? 1024 : 16;
          if (dims == "N, 20000") test.ranges["x"] = {-4, 4};
          expect_same(test, op + " of " + dtype + "[" + dims + "]");
        }
      }
    }
  }
}

// ---- chains

TEST(LoweringFusedTest, ElementwiseAroundAReduction) {
  LoweringCase test{R"(graph @main(%x: f32[N, 8], %b: f32[8]) -> (%y, %z) {
  %y: f32[N, 1], %z: bool[N, 1] = Fused(%x, %b) {body = @main.f0}
}
graph @main.f0(%x: f32[N, 8], %b: f32[8]) -> (%y, %z) fused {
  %k = constant i64[1] [1]
  %c = constant f32[] [0.5]
  %e: f32[N, 8] = Add(%x, %b)
  %f: f32[N, 8] = Sigmoid(%e)
  %r: f32[N, 1] = ReduceSum(%f, %k)
  %y: f32[N, 1] = Mul(%r, %c)
  %z: bool[N, 1] = Less(%y, %c)
}
)"};
  test.ulps = 32;
  test.ranges["x"] = {-2, 2};
  test.ranges["b"] = {-2, 2};
  expect_same(test, "a reduction with elementwise nodes");
}

TEST(LoweringFusedTest, ViewsAndCasts) {
  expect_same({R"(graph @main(%x: f16[N, 6], %b: i32[6, N]) -> (%y) {
  %y: i32[6, N] = Fused(%x, %b) {body = @main.f0}
}
graph @main.f0(%x: f16[N, 6], %b: i32[6, N]) -> (%y) fused {
  %t: f16[6, N] = Transpose(%x)
  %h: f16[6, N] = Mul(%t, %t)
  %c: i32[6, N] = Cast(%h) {to = 6}
  %y: i32[6, N] = Sub(%c, %b)
}
)"},
              "a transposed product of halves");
}

}  // namespace
}  // namespace sluice::loop
