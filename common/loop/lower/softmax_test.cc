#include <gtest/gtest.h>

#include "common/loop/lowering_testing.h"

namespace sluice::loop {
namespace {

void expect_equal(std::initializer_list<LoweringCase> cases) {
  for (const LoweringCase& test : cases) EXPECT_EQ(lowering_difference(test), "") << test.graphs;
}

TEST(SoftmaxLoweringTest, Softmax) {
  expect_equal({
      {one_node("%x: f32[3, 4, 5]", "%y = Softmax(%x) "), {}, 16},
      {one_node("%x: f32[3, 4, 5]", "%y = Softmax(%x) {axis = 0}"), {}, 16},
      {one_node("%x: f32[3, 4, 5]", "%y = Softmax(%x) {axis = -2}"), {}, 16},
      {one_node("%x: f64[3, 4, 5]", "%y = Softmax(%x) "), {}, 16},
      {one_node("%x: f64[3, 4, 5]", "%y = Softmax(%x) {axis = 0}"), {}, 16},
      {one_node("%x: f64[3, 4, 5]", "%y = Softmax(%x) {axis = -2}"), {}, 16},
      {one_node("%x: f16[3, 4, 5]", "%y = Softmax(%x) "), {}, 16},
      {one_node("%x: f16[3, 4, 5]", "%y = Softmax(%x) {axis = 0}"), {}, 16},
      {one_node("%x: f16[3, 4, 5]", "%y = Softmax(%x) {axis = -2}"), {}, 16},
      {one_node("%x: bf16[3, 4, 5]", "%y = Softmax(%x) "), {}, 16},
      {one_node("%x: bf16[3, 4, 5]", "%y = Softmax(%x) {axis = 0}"), {}, 16},
      {one_node("%x: bf16[3, 4, 5]", "%y = Softmax(%x) {axis = -2}"), {}, 16},
      {one_node("%x: f32[N, M]", "%y = Softmax(%x)"), {{"N", 3}, {"M", 5}}, 16},
      {one_node("%x: f32[N, M, 4]", "%y = Softmax(%x) {axis = 1}"), {{"N", 3}, {"M", 5}}, 16},
      {one_node("%x: f32[N, 0]", "%y = Softmax(%x)"), {{"N", 2}}, 16},
      {one_node("%x: f32[N, 3]", "%y = Softmax(%x)"), {{"N", 0}}, 16},
      {one_node("%x: f32[4, 1]", "%y = Softmax(%x)"), {}, 16},
      {one_node("%x: f32[33]", "%y = Softmax(%x)"), {}, 16, {{"x", {-90, 90}}}},
  });
}

TEST(SoftmaxLoweringTest, LogSoftmax) {
  expect_equal({
      {one_node("%x: f32[3, 4, 5]", "%y = LogSoftmax(%x) "), {}, 16},
      {one_node("%x: f32[3, 4, 5]", "%y = LogSoftmax(%x) {axis = 0}"), {}, 16},
      {one_node("%x: f32[3, 4, 5]", "%y = LogSoftmax(%x) {axis = -2}"), {}, 16},
      {one_node("%x: f64[3, 4, 5]", "%y = LogSoftmax(%x) "), {}, 16},
      {one_node("%x: f64[3, 4, 5]", "%y = LogSoftmax(%x) {axis = 0}"), {}, 16},
      {one_node("%x: f64[3, 4, 5]", "%y = LogSoftmax(%x) {axis = -2}"), {}, 16},
      {one_node("%x: f16[3, 4, 5]", "%y = LogSoftmax(%x) "), {}, 16},
      {one_node("%x: f16[3, 4, 5]", "%y = LogSoftmax(%x) {axis = 0}"), {}, 16},
      {one_node("%x: f16[3, 4, 5]", "%y = LogSoftmax(%x) {axis = -2}"), {}, 16},
      {one_node("%x: bf16[3, 4, 5]", "%y = LogSoftmax(%x) "), {}, 16},
      {one_node("%x: bf16[3, 4, 5]", "%y = LogSoftmax(%x) {axis = 0}"), {}, 16},
      {one_node("%x: bf16[3, 4, 5]", "%y = LogSoftmax(%x) {axis = -2}"), {}, 16},
      {one_node("%x: f32[N, M]", "%y = LogSoftmax(%x)"), {{"N", 3}, {"M", 5}}, 16},
      {one_node("%x: f32[N, M, 4]", "%y = LogSoftmax(%x) {axis = 1}"), {{"N", 3}, {"M", 5}}, 16},
      {one_node("%x: f32[N, 0]", "%y = LogSoftmax(%x)"), {{"N", 2}}, 16},
      {one_node("%x: f32[N, 3]", "%y = LogSoftmax(%x)"), {{"N", 0}}, 16},
      {one_node("%x: f32[4, 1]", "%y = LogSoftmax(%x)"), {}, 16},
      {one_node("%x: f32[33]", "%y = LogSoftmax(%x)"), {}, 16, {{"x", {-90, 90}}}},
  });
}

TEST(SoftmaxLoweringTest, Hardmax) {
  expect_equal({
      {one_node("%x: f32[3, 4, 5]", "%y = Hardmax(%x) "), {}, 0},
      {one_node("%x: f32[3, 4, 5]", "%y = Hardmax(%x) {axis = 0}"), {}, 0},
      {one_node("%x: f32[3, 4, 5]", "%y = Hardmax(%x) {axis = -2}"), {}, 0},
      {one_node("%x: f64[3, 4, 5]", "%y = Hardmax(%x) "), {}, 0},
      {one_node("%x: f64[3, 4, 5]", "%y = Hardmax(%x) {axis = 0}"), {}, 0},
      {one_node("%x: f64[3, 4, 5]", "%y = Hardmax(%x) {axis = -2}"), {}, 0},
      {one_node("%x: f16[3, 4, 5]", "%y = Hardmax(%x) "), {}, 0},
      {one_node("%x: f16[3, 4, 5]", "%y = Hardmax(%x) {axis = 0}"), {}, 0},
      {one_node("%x: f16[3, 4, 5]", "%y = Hardmax(%x) {axis = -2}"), {}, 0},
      {one_node("%x: bf16[3, 4, 5]", "%y = Hardmax(%x) "), {}, 0},
      {one_node("%x: bf16[3, 4, 5]", "%y = Hardmax(%x) {axis = 0}"), {}, 0},
      {one_node("%x: bf16[3, 4, 5]", "%y = Hardmax(%x) {axis = -2}"), {}, 0},
      {one_node("%x: f32[N, M]", "%y = Hardmax(%x)"), {{"N", 3}, {"M", 5}}, 0},
      {one_node("%x: f32[N, M, 4]", "%y = Hardmax(%x) {axis = 1}"), {{"N", 3}, {"M", 5}}, 0},
      {one_node("%x: f32[N, 0]", "%y = Hardmax(%x)"), {{"N", 2}}, 0},
      {one_node("%x: f32[N, 3]", "%y = Hardmax(%x)"), {{"N", 0}}, 0},
      {one_node("%x: f32[4, 1]", "%y = Hardmax(%x)"), {}, 0},
      {one_node("%x: f32[33]", "%y = Hardmax(%x)"), {}, 0, {{"x", {-90, 90}}}},
  });
}

}  // namespace
}  // namespace sluice::loop
