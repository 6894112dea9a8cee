#include "common/loop/testing/family_case.h"

namespace sluice::loop {
namespace {

TEST(BinaryTest, GatesOfSwish) {
  for (const std::string dims : {"3, 5", "N, M", "2, 0"}) {
    const std::string inputs = "%a: D[" + dims + "], %b: D[" + dims + "]";
    expect_family({inputs, "%y = SwiGLU(%a, %b)", 16});
    expect_family({inputs, "%y = SwiGLU(%a, %b) {alpha = 1.5}", 16});
  }
}

TEST(BinaryTest, ConstantPowers) {
  for (const std::string exponent :
       {"i64[] [0]", "i64[1] [1]", "i32[] [2]", "f32[] [3]", "f64[] [7]", "i64[] [63]"}) {
    const std::string constant = "%k = constant " + exponent + "\n";
    expect_family({"%x: D[N, 5]",
                   "%y = Pow(%x, %k)",
                   0,
                   {},
                   {"i8", "u8", "i32", "u32", "i64", "u64"},
                   constant});
    if (exponent != "i64[] [63]")
      expect_family({"%x: D[N, 5]", "%y = Pow(%x, %k)", 16, {}, {"f32", "f64", "f16"}, constant});
  }
}

}  // namespace
}  // namespace sluice::loop
