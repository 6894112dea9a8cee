#include <gtest/gtest.h>

#include "common/loop/lowering_testing.h"

namespace sluice::loop {
namespace {

void expect_equal(std::initializer_list<LoweringCase> cases) {
  for (const LoweringCase& test : cases) EXPECT_EQ(lowering_difference(test), "") << test.graphs;
}

TEST(BinaryLoweringTest, SwiGLU) {
  expect_equal({
      {one_node("%a: f32[3, 5], %b: f32[3, 5]", "%y = SwiGLU(%a, %b) {alpha = 1.5}"), {}, 16},
      {one_node("%a: f32[N, M], %b: f32[N, M]", "%y = SwiGLU(%a, %b) {alpha = 1.5}"),
       {{"N", 3}, {"M", 5}},
       16},
      {one_node("%a: f32[N, 0], %b: f32[N, 0]", "%y = SwiGLU(%a, %b) {alpha = 1.5}"),
       {{"N", 2}},
       16},
      {one_node("%a: f64[3, 5], %b: f64[3, 5]", "%y = SwiGLU(%a, %b) {alpha = 1.5}"), {}, 16},
      {one_node("%a: f64[N, M], %b: f64[N, M]", "%y = SwiGLU(%a, %b) {alpha = 1.5}"),
       {{"N", 3}, {"M", 5}},
       16},
      {one_node("%a: f64[N, 0], %b: f64[N, 0]", "%y = SwiGLU(%a, %b) {alpha = 1.5}"),
       {{"N", 2}},
       16},
      {one_node("%a: f16[3, 5], %b: f16[3, 5]", "%y = SwiGLU(%a, %b) {alpha = 1.5}"), {}, 4},
      {one_node("%a: f16[N, M], %b: f16[N, M]", "%y = SwiGLU(%a, %b) {alpha = 1.5}"),
       {{"N", 3}, {"M", 5}},
       4},
      {one_node("%a: f16[N, 0], %b: f16[N, 0]", "%y = SwiGLU(%a, %b) {alpha = 1.5}"),
       {{"N", 2}},
       4},
      {one_node("%a: bf16[3, 5], %b: bf16[3, 5]", "%y = SwiGLU(%a, %b) {alpha = 1.5}"), {}, 4},
      {one_node("%a: bf16[N, M], %b: bf16[N, M]", "%y = SwiGLU(%a, %b) {alpha = 1.5}"),
       {{"N", 3}, {"M", 5}},
       4},
      {one_node("%a: bf16[N, 0], %b: bf16[N, 0]", "%y = SwiGLU(%a, %b) {alpha = 1.5}"),
       {{"N", 2}},
       4},
  });
}

TEST(BinaryLoweringTest, Pow) {
  expect_equal({
      {one_node("%a: i8[3, 5]", "%y = Pow(%a, i64 [0])"), {}, 0},
      {one_node("%a: i8[3, 5]", "%y = Pow(%a, i64[1] [1])"), {}, 0},
      {one_node("%a: i8[3, 5]", "%y = Pow(%a, i32 [2])"), {}, 0},
      {one_node("%a: i8[3, 5]", "%y = Pow(%a, f32 [3])"), {}, 0},
      {one_node("%a: i8[3, 5]", "%y = Pow(%a, f64 [7])"), {}, 0},
      {one_node("%a: i8[3, 5]", "%y = Pow(%a, i64 [63])"), {}, 0},
      {one_node("%a: u8[3, 5]", "%y = Pow(%a, i64 [0])"), {}, 0},
      {one_node("%a: u8[3, 5]", "%y = Pow(%a, i64[1] [1])"), {}, 0},
      {one_node("%a: u8[3, 5]", "%y = Pow(%a, i32 [2])"), {}, 0},
      {one_node("%a: u8[3, 5]", "%y = Pow(%a, f32 [3])"), {}, 0},
      {one_node("%a: u8[3, 5]", "%y = Pow(%a, f64 [7])"), {}, 0},
      {one_node("%a: u8[3, 5]", "%y = Pow(%a, i64 [63])"), {}, 0},
      {one_node("%a: i32[3, 5]", "%y = Pow(%a, i64 [0])"), {}, 0},
      {one_node("%a: i32[3, 5]", "%y = Pow(%a, i64[1] [1])"), {}, 0},
      {one_node("%a: i32[3, 5]", "%y = Pow(%a, i32 [2])"), {}, 0},
      {one_node("%a: i32[3, 5]", "%y = Pow(%a, f32 [3])"), {}, 0},
      {one_node("%a: i32[3, 5]", "%y = Pow(%a, f64 [7])"), {}, 0},
      {one_node("%a: i32[3, 5]", "%y = Pow(%a, i64 [63])"), {}, 0},
      {one_node("%a: u32[3, 5]", "%y = Pow(%a, i64 [0])"), {}, 0},
      {one_node("%a: u32[3, 5]", "%y = Pow(%a, i64[1] [1])"), {}, 0},
      {one_node("%a: u32[3, 5]", "%y = Pow(%a, i32 [2])"), {}, 0},
      {one_node("%a: u32[3, 5]", "%y = Pow(%a, f32 [3])"), {}, 0},
      {one_node("%a: u32[3, 5]", "%y = Pow(%a, f64 [7])"), {}, 0},
      {one_node("%a: u32[3, 5]", "%y = Pow(%a, i64 [63])"), {}, 0},
      {one_node("%a: i64[3, 5]", "%y = Pow(%a, i64 [0])"), {}, 0},
      {one_node("%a: i64[3, 5]", "%y = Pow(%a, i64[1] [1])"), {}, 0},
      {one_node("%a: i64[3, 5]", "%y = Pow(%a, i32 [2])"), {}, 0},
      {one_node("%a: i64[3, 5]", "%y = Pow(%a, f32 [3])"), {}, 0},
      {one_node("%a: i64[3, 5]", "%y = Pow(%a, f64 [7])"), {}, 0},
      {one_node("%a: i64[3, 5]", "%y = Pow(%a, i64 [63])"), {}, 0},
      {one_node("%a: u64[3, 5]", "%y = Pow(%a, i64 [0])"), {}, 0},
      {one_node("%a: u64[3, 5]", "%y = Pow(%a, i64[1] [1])"), {}, 0},
      {one_node("%a: u64[3, 5]", "%y = Pow(%a, i32 [2])"), {}, 0},
      {one_node("%a: u64[3, 5]", "%y = Pow(%a, f32 [3])"), {}, 0},
      {one_node("%a: u64[3, 5]", "%y = Pow(%a, f64 [7])"), {}, 0},
      {one_node("%a: u64[3, 5]", "%y = Pow(%a, i64 [63])"), {}, 0},
      {one_node("%a: f32[N, 5]", "%y = Pow(%a, i64 [0])"), {{"N", 2}}, 16},
      {one_node("%a: f32[N, 5]", "%y = Pow(%a, i64[1] [1])"), {{"N", 2}}, 16},
      {one_node("%a: f32[N, 5]", "%y = Pow(%a, i32 [2])"), {{"N", 2}}, 16},
      {one_node("%a: f32[N, 5]", "%y = Pow(%a, f32 [3])"), {{"N", 2}}, 16},
      {one_node("%a: f32[N, 5]", "%y = Pow(%a, f64 [2.5])"), {{"N", 2}}, 16},
      {one_node("%a: f64[N, 5]", "%y = Pow(%a, i64 [0])"), {{"N", 2}}, 16},
      {one_node("%a: f64[N, 5]", "%y = Pow(%a, i64[1] [1])"), {{"N", 2}}, 16},
      {one_node("%a: f64[N, 5]", "%y = Pow(%a, i32 [2])"), {{"N", 2}}, 16},
      {one_node("%a: f64[N, 5]", "%y = Pow(%a, f32 [3])"), {{"N", 2}}, 16},
      {one_node("%a: f64[N, 5]", "%y = Pow(%a, f64 [2.5])"), {{"N", 2}}, 16},
      {one_node("%a: f16[N, 5]", "%y = Pow(%a, i64 [0])"), {{"N", 2}}, 4},
      {one_node("%a: f16[N, 5]", "%y = Pow(%a, i64[1] [1])"), {{"N", 2}}, 4},
      {one_node("%a: f16[N, 5]", "%y = Pow(%a, i32 [2])"), {{"N", 2}}, 4},
      {one_node("%a: f16[N, 5]", "%y = Pow(%a, f32 [3])"), {{"N", 2}}, 4},
      {one_node("%a: f16[N, 5]", "%y = Pow(%a, f64 [2.5])"), {{"N", 2}}, 4},
  });
}

}  // namespace
}  // namespace sluice::loop
