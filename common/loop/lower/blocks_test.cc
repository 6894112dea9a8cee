#include "common/loop/testing/node_form.h"

namespace sluice::loop {
namespace {

TEST(BlocksLoweringTest, Blocks) {
  for (const std::string mode : {"DCR", "CRD"}) {
    const std::string node = "%y = DepthToSpace(%x) {blocksize = 2, mode = \"" + mode + "\"}";
    expect_same({"%x: D[2, 8, 3, 1]", "", node}, kAllDtypes);
    expect_same({"%x: f32[N, 12, M, 5]", "", node});
    expect_same({"%x: f32[0, 12, 2, 5]", "", node});
  }
  expect_same({"%x: f32[1, 9, M, 2]", "", "%y = DepthToSpace(%x) {blocksize = 3}"});
  expect_same({"%x: f32[1, 3, M, 2]", "", "%y = DepthToSpace(%x) {blocksize = 1}"});
  expect_same({"%x: D[2, 3, 6, 4]", "", "%y = SpaceToDepth(%x) {blocksize = 2}"}, kAllDtypes);
  expect_same({"%x: f32[N, M, 2*N, 4]", "", "%y = SpaceToDepth(%x) {blocksize = 2}"});
  expect_same({"%x: f32[1, 1, 3, 6]", "", "%y = SpaceToDepth(%x) {blocksize = 3}"});
}

TEST(BlocksLoweringTest, BlocksInBodies) {
  const auto body = [](const std::string& node, const std::string& from, const std::string& to) {
    const std::string input = "%x: f32[" + from + "]";
    return "graph @main(" + input + ") -> (%r) {\n%r: f32[" + to +
           "] = Fused(%x) {body = @body}\n}\ngraph @body(" + input +
           ") -> (%r) fused {\n%y = " + node + "\n%r = Transpose(%y) {perm = [0, 1, 3, 2]}\n}\n";
  };
  LoweringCase test;
  test.sizes = {{"N", 3}, {"M", 2}};
  for (const std::string mode : {"DCR", "CRD"}) {
    test.graphs = body("DepthToSpace(%x) {blocksize = 2, mode = \"" + mode + "\"}", "N, 8, M, 3",
                       "N, 2, 6, 2*M");
    EXPECT_EQ(lowering_difference(test), "");
  }
  test.graphs = body("SpaceToDepth(%x) {blocksize = 2}", "N, M, 4, 6", "N, 4*M, 3, 2");
  EXPECT_EQ(lowering_difference(test), "");
}

// Phases as channels, and as inputs of their own, some cut off or absent.
TEST(BlocksLoweringTest, Interleave) {
  expect_same({"%x: D[2, 8, 3, 1]", "", "%y = Interleave(%x) {strides = [2, 2]}"}, kAllDtypes);
  expect_same({"%x: f32[N, 12, M, 5]", "",
               "%y = Interleave(%x) {group = 2, pads = [1, 0, 2, 1], strides = [3, 2]}"});
  expect_same({"%x: f32[N, 12, M]", "", "%y = Interleave(%x) {group = 3, strides = [4]}"});
  expect_same({"%x: f32[2, 3, 4, 5]", "", "%y = Interleave(%x) {pads = [1, 0, 0, 2]}"});
  expect_same({"%x: f32[1, 8, 2, M, 3]", "", "%y = Interleave(%x) {strides = [2, 2, 2]}"});
  expect_same(
      {"%a: D[N, 2, M, 3], %b: D[N, 2, M, 3]", "", "%y = Interleave(%a, %b) {strides = [1, 2]}"},
      kAllDtypes);
  expect_same({"%a: f32[2, 3, 4], %b: f32[2, 3, 4], %c: f32[2, 3, 4]", "",
               "%y = Interleave(%a, %b, %c) {pads = [2, 4], strides = [3]}"});
  expect_same({"%a: f32[2, 3, 4], %b: f32[2, 3, 4]", "",
               "%y = Interleave(%a, _, %b) {pads = [1, 1], strides = [3]}"});
}

// One row is left of two, and of three.
TEST(BlocksLoweringTest, InterleavedRowsBeforeOtherNodes) {
  const auto body = [](const std::string& inputs, const std::string& names,
                       const std::string& node) {
    return "graph @main(" + inputs + ") -> (%y) {\n%y: f32[2, 4, 1, N] = Fused(" + names +
           ") {body = @body}\n}\ngraph @body(" + inputs + ") -> (%y) fused {\n%0 = Interleave(" +
           node + "\n%y = Add(%0, %r)\n}\n";
  };
  LoweringCase test;
  test.sizes = {{"N", 3}};
  test.graphs =
      body("%a: f32[2, 4, 3, N], %r: f32[2, 4, 1, N]", "%a, %r", "%a) {pads = [1, 0, 1, 0]}");
  EXPECT_EQ(lowering_difference(test), "");
  test.graphs = body("%a: f32[2, 12, 2, N], %r: f32[2, 4, 1, N]", "%a, %r",
                     "%a) {pads = [4, 0, 1, 0], strides = [3, 1]}");
  EXPECT_EQ(lowering_difference(test), "");
  test.graphs = body("%a: f32[2, 4, 1, N], %b: f32[2, 4, 1, N], %r: f32[2, 4, 1, N]", "%a, %b, %r",
                     "%a, %b) {pads = [1, 0, 0, 0], strides = [2, 1]}");
  EXPECT_EQ(lowering_difference(test), "");
}

TEST(BlocksLoweringTest, InterleavedPhasesOfOneSize) {
  LoweringCase test;
  test.sizes = {{"N", 3}, {"M", 3}};
  test.graphs =
      "graph @main(%a: f32[1, 2, N], %b: f32[1, 2, M]) -> (%y) {\n%y: f32[1, 2, 2*N] = "
      "Interleave(%a, %b) {strides = [2]}\n}\n";
  EXPECT_NE(lowering_difference(test).find("its phases may have different sizes"),
            std::string::npos);
}

TEST(BlocksLoweringTest, Col2Im) {
  LoweringCase near;
  near.ulps = 8;
  near.ranges = {{"x", {-4, 4}}};
  const std::vector<Sizes> sizes = {{{"N", 2}, {"M", 3}}};
  const std::vector<std::string> dtypes = {"f32", "f64", "f16", "i32", "u8"};
  expect_same({"%x: D[N, 8, 12]", "%i = constant i64[2] [4, 5]\n%b = constant i64[2] [2, 2]",
               "%y = Col2Im(%x, %i, %b)"},
              dtypes, sizes, near);
  expect_same({"%x: D[N, 12, 4]", "%i = constant i64[2] [5, 5]\n%b = constant i64[2] [2, 3]",
               "%y = Col2Im(%x, %i, %b) {strides = [2, 2], pads = [0, 1, 0, 0]}"},
              dtypes, sizes, near);
  expect_same({"%x: D[N, 6, 4]", "%i = constant i64[1] [8]\n%b = constant i64[1] [3]",
               "%y = Col2Im(%x, %i, %b) {dilations = [2]}"},
              dtypes, sizes, near);
  expect_same({"%x: D[1, 8, 8]", "%i = constant i64[3] [3, 3, 3]\n%b = constant i64[3] [2, 2, 2]",
               "%y = Col2Im(%x, %i, %b)"},
              dtypes, sizes, near);
  expect_same({"%x: D[N, 4, 2]", "%i = constant i64[1] [7]\n%b = constant i64[1] [2]",
               "%y = Col2Im(%x, %i, %b) {strides = [3]}"},
              dtypes, sizes, near);
}

}  // namespace
}  // namespace sluice::loop
