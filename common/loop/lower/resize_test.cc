#include "common/loop/testing/node_form.h"

namespace sluice::loop {
namespace {

const char* const kCoordinates[] = {"half_pixel",         "half_pixel_symmetric",
                                    "pytorch_half_pixel", "align_corners",
                                    "asymmetric",         "tf_half_pixel_for_nn"};

std::string resize(const std::string& operands, const std::string& attributes) {
  return "%y = Resize(" + operands + ") {" + attributes + "}";
}

TEST(ResizeLoweringTest, ResizeNearest) {
  const LoweringCase test = near_to(0);
  for (const std::string coordinates : kCoordinates) {
    for (const std::string nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
      const std::string how = "coordinate_transformation_mode = \"" + coordinates +
                              "\", nearest_mode = \"" + nearest + "\"";
      const std::string scaled = resize("%x, _, %s", how), sized = resize("%x, _, _, %s", how);
      for (const std::string scales : {"2, 3", "1.5, 0.6", "0.5, 1", "4, 0.25"})
        expect_same({"%x: f32[5, 7]", "%s = constant f32[2] [" + scales + "]", scaled}, {"f32"},
                    kTwoSizes, test);
      for (const std::string scales : {"2, 1", "1.5, 0.5", "3, 4", "1, 0.25"})
        expect_same({"%x: f32[N, M]", "%s = constant f32[2] [" + scales + "]", scaled}, {"f32"},
                    kTwoSizes, test);
      for (const std::string sizes : {"10, 5", "3, 14", "1, 1", "5, 7"})
        expect_same({"%x: f32[5, 7]", "%s = constant i64[2] [" + sizes + "]", sized}, {"f32"},
                    kTwoSizes, test);
      for (const std::string sizes : {"10, 6", "4, 7", "1, 2"})
        expect_same({"%x: f32[N, M]", "%s = constant i64[2] [" + sizes + "]", sized}, {"f32"},
                    kTwoSizes, test);
    }
  }
  const std::vector<std::string> dtypes = {"f64", "f16", "bf16", "i8", "i32", "u8", "bool"};
  expect_same(
      {"%x: D[1, 2, 3, M]", "%s = constant f32[2] [2, 3]", resize("%x, _, %s", "axes = [2, 3]")},
      dtypes, kTwoSizes, test);
  expect_same(
      {"%x: f32[N, 0]", "%s = constant f32[2] [2, 3]", resize("%x, _, %s", "mode = \"nearest\"")});
}

TEST(ResizeLoweringTest, ResizeInterpolated) {
  for (const std::string mode : {"linear", "cubic"}) {
    for (const std::string coordinates : kCoordinates) {
      const std::string how =
          "coordinate_transformation_mode = \"" + coordinates + "\", mode = \"" + mode + "\"";
      const std::string scaled = resize("%x, _, %s", how), sized = resize("%x, _, _, %s", how);
      const LoweringCase test = near_to(4);
      for (const std::string scales : {"2, 3", "1.5, 0.6", "0.5, 1"})
        expect_same({"%x: D[5, 7]", "%s = constant f32[2] [" + scales + "]", scaled},
                    {"f32", "f64", "f16"}, kTwoSizes, test);
      expect_same({"%x: f32[N, M]", "%s = constant f32[2] [2, 0.5]", scaled}, {"f32"}, kTwoSizes,
                  test);
      for (const std::string sizes : {"10, 5", "1, 1", "5, 7"})
        expect_same({"%x: f32[5, 7]", "%s = constant i64[2] [" + sizes + "]", sized}, {"f32"},
                    kTwoSizes, test);
      for (const std::string sizes : {"10, 6", "5, 1"})
        expect_same({"%x: f32[N, M]", "%s = constant i64[2] [" + sizes + "]", sized}, {"f32"},
                    kTwoSizes, test);
      const std::string more = how + ", exclude_outside = 1, cubic_coeff_a = -0.5";
      expect_same({"%x: D[5, 7]", "%s = constant f32[2] [1.7, 0.6]", resize("%x, _, %s", more)},
                  {"f32", "i32", "u8"}, kTwoSizes, test);
    }
  }
  expect_same({"%x: f32[2, 3, 4]", "%s = constant f32[3] [2, 2, 2]",
               resize("%x, _, %s", "mode = \"cubic\"")},
              {"f32"}, kTwoSizes, near_to(8));
}

TEST(ResizeLoweringTest, ResizeSmoothed) {
  for (const std::string mode : {"linear", "cubic"}) {
    const std::string how = "antialias = 1, mode = \"" + mode + "\"";
    expect_same({"%x: D[9, 8]", "%s = constant f32[2] [0.6, 0.5]", resize("%x, _, %s", how)},
                {"f32", "f16"}, kTwoSizes, near_to(8));
    expect_same({"%x: f32[9, 3]", "%s = constant i64[2] [4, 5]", resize("%x, _, _, %s", how)},
                {"f32"}, kTwoSizes, near_to(8));
    expect_same({"%x: f32[N, M]", "%s = constant f32[2] [0.5, 2]", resize("%x, _, %s", how)},
                {"f32"}, kTwoSizes, near_to(8));
  }
}

TEST(ResizeLoweringTest, ResizeCropped) {
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    const std::string how =
        "coordinate_transformation_mode = \"tf_crop_and_resize\", extrapolation_value = 7.0, mode "
        "= \"" +
        mode + "\"";
    const std::string roi = "%r = constant f32[4] [0.2, -0.3, 0.9, 1.3]\n";
    expect_same({"%x: D[5, 7]", roi + "%s = constant i64[2] [4, 9]", resize("%x, %r, _, %s", how)},
                {"f32", "f16", "i32"}, kTwoSizes, near_to(4));
    expect_same(
        {"%x: f32[N, M]", roi + "%s = constant i64[2] [1, 9]", resize("%x, %r, _, %s", how)},
        {"f32"}, kTwoSizes, near_to(4));
    LoweringCase loaded = near_to(4);
    loaded.ranges["r"] = {-0.5, 1.5};
    expect_same(
        {"%x: f32[N, M], %r: f32[4]", "%s = constant i64[2] [4, 9]", resize("%x, %r, _, %s", how)},
        {"f32"}, kTwoSizes, loaded);
  }
}

TEST(ResizeLoweringTest, ResizeKeepsAspect) {
  for (const std::string policy : {"not_larger", "not_smaller"}) {
    const std::string how = "mode = \"linear\", keep_aspect_ratio_policy = \"" + policy + "\"";
    expect_same({"%x: f32[5, 7]", "%s = constant i64[2] [9, 9]", resize("%x, _, _, %s", how)},
                {"f32"}, kTwoSizes, near_to(4));
    expect_same({"%x: f32[2, 5, 7]", "%s = constant i64[2] [3, 9]",
                 resize("%x, _, _, %s", how + ", axes = [1, 2]")},
                {"f32"}, kTwoSizes, near_to(4));
  }
}

}  // namespace
}  // namespace sluice::loop
