#include "common/loop/testing/node_form.h"

namespace sluice::loop {
namespace {

TEST(GeneratorLoweringTest, Generators) {
  for (const std::string k : {"0", "1", "-2", "9"}) {
    expect_same({"%x: D[4, 5]", "", "%y = EyeLike(%x) {k = " + k + "}"}, kSomeDtypes);
    expect_same({"%x: f32[N, M]", "", "%y = EyeLike(%x) {dtype = 7, k = " + k + "}"});
    expect_same({"%x: f32[N, M]", "", "%y = EyeLike(%x) {dtype = 10, k = " + k + "}"});
  }
  const std::vector<std::string> numbers = {"f32", "f64", "f16", "i16", "i32", "i64"};
  expect_same({"", "%s = constant D[] [2]\n%e = constant D[] [9]\n%d = constant D[] [3]",
               "%y = Range(%s, %e, %d)"},
              numbers);
  expect_same({"", "%s = constant i64[] [7]\n%e = constant i64[] [-4]\n%d = constant i64[] [-2]",
               "%y = Range(%s, %e, %d)"});
  expect_same({"", "%s = constant i64[] [7]\n%e = constant i64[] [4]\n%d = constant i64[] [2]",
               "%y = Range(%s, %e, %d)"});
  const std::string shape = "%s = constant i64[2] [3, 4]";
  expect_same({"", shape, "%y = ConstantOfShape(%s)"});
  for (const std::string value : {"f16[1] [1.5]", "i64[1] [-3]", "bool[1] [true]", "f64[1] [0.1]"})
    expect_same({"", shape, "%y = ConstantOfShape(%s) {value = constant " + value + "}"});
  expect_same({"%x: D[N, 3, M]", "", "%y = Shape(%x)"}, kSomeDtypes);
  expect_same({"%x: f32[N, 3, M]", "", "%y = Shape(%x) {start = -2}"});
  expect_same({"%x: f32[N, 3, M]", "", "%y = Shape(%x) {start = 2, end = 3}"});
  expect_same({"%x: f32[N, 3, M]", "", "%y = Shape(%x) {start = 2, end = 1}"});
  expect_same({"%x: f32[]", "", "%y = Shape(%x)"});
  expect_same({"%x: f32[N, 3, M]", "", "%y = Size(%x)"});
  expect_same({"%x: f32[]", "", "%y = Size(%x)"});
}

}  // namespace
}  // namespace sluice::loop
