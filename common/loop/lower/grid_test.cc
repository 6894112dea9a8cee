#include "common/loop/testing/node_form.h"

namespace sluice::loop {
namespace {

// ---- GridSample, AffineGrid

TEST(GridLoweringTest, GridSample) {
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    for (const std::string padding : {"zeros", "border", "reflection"}) {
      for (const std::string align : {"0", "1"}) {
        const std::string node = "%y = GridSample(%x, %g) {mode = \"" + mode +
                                 "\", padding_mode = \"" + padding +
                                 "\", align_corners = " + align + "}";
        LoweringCase test = near_to(8);
        test.ranges["g"] = {-1.7, 1.7};
        expect_same({"%x: D[2, 3, 5, 4], %g: D[2, 3, 6, 2]", "", node}, {"f32", "f64", "f16"},
                    kTwoSizes, test);
        expect_same({"%x: f32[2, M, N, M], %g: f32[2, N, 3, 2]", "", node}, {"f32"}, kTwoSizes,
                    test);
        expect_same({"%x: f32[2, 2, 3, 4, 2], %g: f32[2, 2, 1, 3, 3]", "", node}, {"f32"},
                    {kTwoSizes[0]}, test);
        expect_same({"%x: f32[1, 2, 5], %g: f32[1, 4, 1]", "", node}, {"f32"}, {kTwoSizes[0]},
                    test);
        expect_same({"%x: f32[1, 2, 1, 3], %g: f32[1, 4, 2, 2]", "", node}, {"f32"}, {kTwoSizes[0]},
                    test);
        test.ranges.erase("g");  // NaN and infinities
        expect_same({"%x: f32[1, 1, 5, 4], %g: f32[1, 5, 6, 2]", "", node}, {"f32"}, {kTwoSizes[0]},
                    test);
      }
    }
  }
}

TEST(GridLoweringTest, AffineGrid) {
  for (const std::string align : {"0", "1"}) {
    const std::string node = "%y = AffineGrid(%x, %s) {align_corners = " + align + "}";
    expect_same({"%x: D[2, 2, 3]", "%s = constant i64[4] [2, 3, 4, 5]", node},
                {"f32", "f64", "f16"}, kTwoSizes, near_to(4));
    expect_same({"%x: f32[2, 3, 4]", "%s = constant i64[5] [2, 3, 4, 1, 5]", node}, {"f32"},
                kTwoSizes, near_to(4));
    expect_same({"%x: f32[1, 2, 3]", "%s = constant i64[4] [1, 1, 1, 1]", node}, {"f32"}, kTwoSizes,
                near_to(4));
  }
}

}  // namespace
}  // namespace sluice::loop
