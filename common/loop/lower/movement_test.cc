#include "common/loop/testing/node_form.h"

namespace sluice::loop {
namespace {

// ---- Slice

std::string slice_constants(const std::string& starts, const std::string& ends,
                            const std::string& axes, const std::string& steps, int count) {
  const auto line = [&](const std::string& name, const std::string& elements) {
    return fmt::format("%{} = constant i64[{}] [{}]\n", name, count, elements);
  };
  return line("s", starts) + line("e", ends) + line("a", axes) + line("t", steps);
}

TEST(MovementLoweringTest, Slice) {
  const std::string node = "%y = Slice(%x, %s, %e, %a, %t)";
  const std::string fixed = slice_constants("1, -3", "4, 100", "0, -1", "1, 2", 2);
  expect_same({"%x: D[6, 3, 7]", fixed, node}, kAllDtypes);
  expect_same({"%x: D[N, M, 7]", fixed, node}, kSomeDtypes);
  const std::string all = std::to_string(INT64_MAX), none = std::to_string(-INT64_MAX);
  for (const std::string& constants :
       {slice_constants("0", all, "0", "1", 1), slice_constants("2", all, "0", "3", 1),
        slice_constants("-1", none, "0", "-1", 1), slice_constants("-2", all, "0", "1", 1),
        slice_constants("-100", "-1", "0", "1", 1), slice_constants("7", all, "0", "2", 1),
        slice_constants("0", "-2", "0", "4", 1)}) {
    expect_same({"%x: f32[N, M]", constants, node});
    expect_same({"%x: f32[8, 3]", constants, node});
    expect_same({"%x: f32[1]", constants, node});
  }
  for (const std::string& constants :
       {slice_constants("7", "2", "0", "-2", 1), slice_constants("100", "-100", "0", "-3", 1),
        slice_constants("-2", "0", "0", "-1", 1), slice_constants("-100", "-100", "0", "-1", 1),
        slice_constants("3", "3", "0", "1", 1)})
    expect_same({"%x: f32[8, 3]", constants, node});
  expect_same({"%x: f32[0, 3]", slice_constants("0", "5", "0", "1", 1), node});
  expect_same({"%x: f32[2, 1, 2, 3, 1, 2, 2, 3]",
               slice_constants("-1, 1", "-9, 3", "7, 3", "-1, 1", 2), node});
}

TEST(MovementLoweringTest, SliceFromLoadedStarts) {
  for (const int64_t start : {0, 1, 2, -3, -4}) {
    LoweringCase test;
    const int64_t end = start == -3 ? INT64_MAX : start + 3;
    test.values = {{"s", integers({start}, {1})}, {"e", integers({end}, {1})}};
    const std::string constants = "%a = constant i64[1] [1]\n";
    expect_same({"%x: f32[M, 7], %s: i64[1], %e: i64[1]", constants,
                 "%y: f32[M, 3] = Slice(%x, %s, %e, %a)"},
                {"f32"}, {{{"N", 3}, {"M", 2}}}, test);
  }
}

// ---- Split, Concat

TEST(MovementLoweringTest, Split) {
  const std::string sizes = "%s = constant i64[3] [1, 0, 5]";
  expect_same({"%x: D[M, 6, 2]", sizes, "%a, %b, %c = Split(%x, %s) {axis = 1}"}, kAllDtypes);
  expect_same({"%x: D[6]", sizes, "%a, %b, %c = Split(%x, %s) {axis = -1}"}, kSomeDtypes);
  expect_same({"%x: f32[M, 7]", "", "%a, %b, %c = Split(%x) {axis = 1, num_outputs = 3}"});
  expect_same({"%x: f32[N, M]", "", "%a, %b = Split(%x) {axis = 0, num_outputs = 2}"}, {"f32"},
              {{{"N", 8}, {"M", 1}}, {{"N", 9}, {"M", 2}}});
  expect_same(
      {"%x: f32[2, 2, 1, 1, 1, 1, 2, 4]", "", "%a, %b = Split(%x) {axis = 7, num_outputs = 2}"});
  expect_same({"%x: f32[4, 0]", "", "%a, %b = Split(%x) {axis = 0, num_outputs = 2}"});
}

TEST(MovementLoweringTest, Concat) {
  const std::string two = "%a: D[M, 3], %b: D[M, 2]";
  expect_same({two, "", "%y = Concat(%a, %b) {axis = 1}"}, kAllDtypes);
  expect_same({two, "", "%y = Concat(%a, %b, %a) {axis = -1}"}, kSomeDtypes);
  expect_same({"%a: f32[N, 3], %b: f32[M, 3]", "", "%y = Concat(%a, %b) {axis = 0}"});
  expect_same({"%a: f32[N, 3], %b: f32[0, 3]", "", "%y = Concat(%b, %a, %b) {axis = 0}"});
  expect_same({"%a: f32[N]", "", "%y = Concat(%a) {axis = 0}"});
  expect_same({"%a: f32[1, 1, 2, 1, 2, 1, 2, 3]", "", "%y = Concat(%a, %a) {axis = 4}"});
  expect_same({"%a: f32[N, 3], %b: f32[M, 3]", "%c = constant f32[2, 3] [1, 2, 3, 4, 5, 6]",
               "%y = Concat(%a, %c, %b) {axis = 0}"});
  expect_same(
      {"%a: f32[N], %b: f32[M]", "%c = constant f32[1] [7]", "%y = Concat(%a, %c, %b) {axis = 0}"});
}

// A node in the middle of a body is read element by element; the last one lays out the nests.
TEST(MovementLoweringTest, Bodies) {
  const auto fused = [](const std::string& inputs, const std::string& names,
                        const std::string& result, const std::string& body) {
    return "graph @main(" + inputs + ") -> (%r) {\n%r: " + result + " = Fused(" + names +
           ") {body = @body}\n}\ngraph @body(" + inputs + ") -> (%r) fused {\n" + body + "\n}\n";
  };
  const std::string two = "%a: f32[N, 3], %b: f32[M, 3]", names = "%a, %b";
  const std::pair<std::string, std::string> rows[] = {
      {"f32[N + M, 3]", "%c = Concat(%a, %b) {axis = 0}\n%r = Relu(%c)"},
      {"f32[N + M, 3]", "%d = Neg(%a)\n%c = Concat(%d, %b) {axis = 0}\n%r = Add(%c, %c)"},
      {"f32[3, N + M]", "%c = Concat(%a, %b) {axis = 0}\n%r = Transpose(%c) {perm = [1, 0]}"},
      {"f32[N + 2*M, 3]",
       "%c = Concat(%a, %b) {axis = 0}\n%d = Neg(%c)\n%r = Concat(%d, %b) {axis = 0}"},
      {"f32[N + M, 3]",
       "%c = Concat(%a, %b) {axis = 0}\n%d = Concat(%a, %b) {axis = 0}\n"
       "%r = Sub(%c, %d)"},
      {"f32[N + M]",
       "%k = constant i64[1] [1]\n%c = Concat(%a, %b) {axis = 0}\n"
       "%r = ReduceSum(%c, %k) {keepdims = 0}"},
      {"f32[2*N + 2*M, 3]",
       "%k = constant i64[2] [2, 1]\n%c = Concat(%a, %b) {axis = 0}\n"
       "%t = Tile(%c, %k)\n%r = Neg(%t)"},
  };
  for (const auto& [result, body] : rows) {
    LoweringCase test{fused(two, names, result, body)};
    test.ulps = 4;
    for (const Sizes& sizes : {Sizes{{"N", 5}, {"M", 3}}, Sizes{{"N", 0}, {"M", 2}}}) {
      test.sizes = sizes;
      EXPECT_EQ(lowering_difference(test), "") << test.graphs;
    }
  }
}

// What divides or indexes where guards do not hold is no fault.
TEST(MovementLoweringTest, FaultsUnderGuards) {
  const std::string inputs = "%a: i32[N, 3], %b: i32[N, 3]";
  LoweringCase test{"graph @main(" + inputs +
                    ") -> (%r) {\n%r: i32[N + 2, 3] = Fused(%a, %b) {body = @body}\n}\n"
                    "graph @body(" +
                    inputs +
                    ") -> (%r) fused {\n%p = constant i64[4] [1, 0, 1, 0]\n%d = Div(%a, %b)\n"
                    "%r = Pad(%d, %p)\n}\n"};
  test.ranges = {{"b", {1, 5}}};
  test.sizes = {{"N", 4}};
  EXPECT_EQ(lowering_difference(test), "");
  const std::string places = "%x: f32[N, 3], %i: i64[M]";
  test.graphs = "graph @main(" + places +
                ") -> (%r) {\n%r: f32[M + 2, 3] = Fused(%x, %i) {body = @body}\n}\n"
                "graph @body(" +
                places +
                ") -> (%r) fused {\n%p = constant i64[4] [1, 0, 1, 0]\n%k = constant i64[] [9]\n%j "
                "= Sub(%i, %k)\n"
                "%d = Gather(%x, %j)\n"
                "%r = Pad(%d, %p)\n}\n";
  test.ranges = {{"i", {5, 12}}};
  for (const Sizes& sizes : {Sizes{{"N", 4}, {"M", 5}}, Sizes{{"N", 0}, {"M", 0}}}) {
    test.sizes = sizes;
    EXPECT_EQ(lowering_difference(test), "") << sizes.at("N");
  }
}

// ---- Tile, Trilu, ReverseSequence, TransData

TEST(MovementLoweringTest, Tile) {
  const std::string repeats = "%r = constant i64[2] [2, 3]";
  expect_same({"%x: D[M, 4]", repeats, "%y = Tile(%x, %r)"}, kAllDtypes);
  expect_same({"%x: f32[N, M]", repeats, "%y = Tile(%x, %r)"});
  expect_same({"%x: f32[2, 0]", repeats, "%y = Tile(%x, %r)"});
  expect_same({"%x: f32[2, 3]", "%r = constant i64[2] [0, 1]", "%y = Tile(%x, %r)"});
  expect_same({"%x: f32[N, 1]", "%r = constant i64[2] [1, 5]", "%y = Tile(%x, %r)"});
  expect_same({"%x: f32[1, 2, 1, 2, 1, 2, 1, 2]", "%r = constant i64[8] [2, 2, 1, 1, 2, 1, 1, 2]",
               "%y = Tile(%x, %r)"});
  expect_same({"%x: f32[]", "%r = constant i64[0] []", "%y = Tile(%x, %r)"});
  LoweringCase loaded;
  loaded.values["r"] = integers({2}, {1});
  expect_same({"%x: f32[N], %r: i64[1]", "", "%y: f32[2*N] = Tile(%x, %r)"}, {"f32"},
              {{{"N", 5}, {"M", 3}}, {{"N", 0}, {"M", 3}}}, loaded);
}

TEST(MovementLoweringTest, Trilu) {
  for (const std::string k :
       {"0", "1", "-1", "3", "-9", "-9223372036854775808", "9223372036854775807"}) {
    for (const std::string upper : {"0", "1"}) {
      const std::string node = "%y = Trilu(%x, %k) {upper = " + upper + "}";
      expect_same({"%x: D[2, M, 4]", "%k = constant i64[] [" + k + "]", node}, kSomeDtypes);
      expect_same({"%x: f32[N, M]", "%k = constant i64[1] [" + k + "]", node});
    }
  }
  expect_same({"%x: D[4, 4]", "", "%y = Trilu(%x)"}, kAllDtypes);
  expect_same({"%x: f32[4, 5], %k: i64[]", "", "%y = Trilu(%x, %k)"});
  expect_same({"%x: f32[4, 5], %k: i64[]", "", "%y = Trilu(%x, %k) {upper = 0}"});
  LoweringCase far;
  far.values["k"] = integers({INT64_MIN}, {});
  expect_same({"%x: f32[4, 5], %k: i64[]", "", "%y = Trilu(%x, %k) {upper = 0}"}, {"f32"},
              {{{"N", 5}, {"M", 3}}}, far);
  expect_same({"%x: f32[0, 5]", "", "%y = Trilu(%x)"});
}

TEST(MovementLoweringTest, ReverseSequence) {
  LoweringCase test;
  test.ranges = {{"l", {-2, 7}}};
  const std::vector<Sizes> sizes = {{{"N", 5}, {"M", 3}}, {{"N", 1}, {"M", 2}}};
  expect_same({"%x: D[N, M, 2], %l: i64[M]", "", "%y = ReverseSequence(%x, %l)"}, kSomeDtypes,
              sizes, test);
  expect_same({"%x: f32[M, N], %l: i64[M]", "",
               "%y = ReverseSequence(%x, %l) {batch_axis = 0, time_axis = 1}"},
              {"f32"}, sizes, test);
  expect_same({"%x: f32[4, 5, 1], %l: i64[4]", "",
               "%y = ReverseSequence(%x, %l) {batch_axis = 0, time_axis = 1}"},
              {"f32"}, sizes, test);
  expect_same({"%x: f32[0, 3], %l: i64[3]", "", "%y = ReverseSequence(%x, %l)"}, {"f32"}, sizes,
              test);
}

TEST(MovementLoweringTest, TransData) {
  expect_same({"%x: D[N, 3, M, 2]", "", "%y = TransData(%x)"}, kSomeDtypes);
}

}  // namespace
}  // namespace sluice::loop
