#include "common/loop/testing/node_form.h"

namespace sluice::loop {
namespace {

// ---- Pad, CenterCropPad

TEST(PaddingLoweringTest, Pad) {
  const std::vector<std::string> pads = {"1, 2, 0, 3",    "0, 0, 2, 0", "-1, 0, 2, -2",
                                         "-1, -1, -1, 0", "5, 4, 6, 9", "0, 0, 0, 0"};
  for (const std::string mode : {"constant", "edge", "reflect", "wrap"}) {
    for (const std::string& given : pads) {
      const std::string constants = "%p = constant i64[4] [" + given + "]";
      const std::string node = "%y = Pad(%x, %p) {mode = \"" + mode + "\"}";
      expect_same({"%x: D[4, 5]", constants, node}, kSomeDtypes);
      expect_same({"%x: f32[N, M]", constants, node});
      expect_same({"%x: f32[1, 2]",
                   given == "-1, 0, 2, -2" || given == "-1, -1, -1, 0"
                       ? "%p = constant i64[4] [3, 4, 5, 6]"
                       : constants,
                   node});
    }
  }
  expect_same({"%x: D[3, 2], %v: D[]", "%p = constant i64[4] [1, 0, 0, 2]", "%y = Pad(%x, %p, %v)"},
              kAllDtypes);
  expect_same({"%x: f32[N, 2]",
               "%p = constant i64[2] [1, 2]\n%v = constant f32[] [7]\n"
               "%a = constant i64[1] [-2]",
               "%y = Pad(%x, %p, %v, %a)"});
  expect_same({"%x: f32[0, 2]", "%p = constant i64[4] [1, 0, 0, 2]", "%y = Pad(%x, %p)"});
  expect_same(
      {"%x: f32[N, 2]", "%p = constant i64[4] [1, 0, 0, 2]", "%y = Pad(%x, %p) {mode = \"edge\"}"},
      {"f32"}, {{{"N", 0}, {"M", 0}}});
  expect_same({"%x: f32[]", "%p = constant i64[0] []", "%y = Pad(%x, %p)"});
}

TEST(PaddingLoweringTest, PadByLoadedPads) {
  LoweringCase test;
  test.values["p"] = integers({2, -1}, {2});
  for (const std::string mode : {"constant", "edge", "reflect", "wrap"}) {
    expect_same(
        {"%x: f32[N], %p: i64[2]", "", "%y: f32[N + 1] = Pad(%x, %p) {mode = \"" + mode + "\"}"},
        {"f32"}, {{{"N", 5}, {"M", 0}}, {{"N", 3}, {"M", 0}}}, test);
  }
}

TEST(PaddingLoweringTest, CenterCropPad) {
  expect_same({"%x: D[4, 5]", "%s = constant i64[2] [7, 2]", "%y = CenterCropPad(%x, %s)"},
              kAllDtypes);
  expect_same({"%x: f32[N, M, 3]", "%s = constant i64[2] [6, 4]",
               "%y = CenterCropPad(%x, %s) {axes = [0, -1]}"});
  for (const std::string size : {"1", "2", "3", "4", "5", "6", "7"}) {
    expect_same(
        {"%x: f32[4]", "%s = constant i64[1] [" + size + "]", "%y = CenterCropPad(%x, %s)"});
    expect_same(
        {"%x: f32[N]", "%s = constant i64[1] [" + size + "]", "%y = CenterCropPad(%x, %s)"});
  }
}

}  // namespace
}  // namespace sluice::loop
