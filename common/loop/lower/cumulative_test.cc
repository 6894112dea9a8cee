#include "common/loop/testing/node_form.h"

namespace sluice::loop {
namespace {

TEST(CumulativeLoweringTest, Cumulative) {
  LoweringCase test;
  test.ulps = 16;
  for (const std::string op : {"CumSum", "CumProd"}) {
    for (const std::string attributes :
         {"exclusive = 0", "exclusive = 1", "reverse = 1", "exclusive = 1, reverse = 1"}) {
      const std::string node = "%y = " + op + "(%x, %a) {" + attributes + "}";
      test.ranges = {{"x", {-2, 2}}};
      expect_same({"%x: D[N, 3]", "%a = constant i64[] [0]", node},
                  {"f32", "f64", "f16", "i32", "i64", "u32", "i8"}, kTwoSizes, test);
      expect_same({"%x: f32[N, M, 2]", "%a = constant i32[1] [-2]", node}, {"f32"}, kTwoSizes,
                  test);
      expect_same({"%x: f32[0, 2]", "%a = constant i64[] [1]", node}, {"f32"}, kTwoSizes, test);
      expect_same({"%x: f32[2, 0]", "%a = constant i64[] [1]", node}, {"f32"}, kTwoSizes, test);
      expect_same({"%x: f32[7]", "%a = constant i64[] [0]", node}, {"f32"}, kTwoSizes, test);
    }
  }
}

TEST(CumulativeLoweringTest, AlongALoadedAxis) {
  for (const int64_t axis : {0, 1, 2, -1, -3}) {
    LoweringCase test;
    test.ulps = 16;
    test.ranges = {{"x", {-2, 2}}};
    test.values["a"] = integers({axis}, {});
    expect_same({"%x: f32[N, M, 2], %a: i64[]", "", "%y = CumSum(%x, %a) {exclusive = 1}"}, {"f32"},
                kTwoSizes, test);
    expect_same({"%x: f32[3, 0, 2], %a: i64[]", "", "%y = CumProd(%x, %a)"}, {"f32"}, kTwoSizes,
                test);
    if (axis == 0)
      expect_same({"%x: f64[N], %a: i64[]", "", "%y = CumSum(%x, %a) {reverse = 1}"}, {"f64"},
                  kTwoSizes, test);
  }
}

}  // namespace
}  // namespace sluice::loop
