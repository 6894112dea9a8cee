#include "stages/subgraph-optimize/codegen/epilogue.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stages/subgraph-optimize/codegen/codegen_testing.h"
#include "stages/subgraph-optimize/codegen/kernel_test.h"

namespace sluice {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

// Applies a program of one input to values, through a kernel that multiplies them by 1.
std::vector<float> apply_epilogue(const Epilogue& epilogue, const std::vector<float>& values,
                                  const DeviceProfile& profile) {
  MatMulSpec s;
  s.m = 1, s.k = 1, s.n = static_cast<int64_t>(values.size());
  s.a_row_stride = 1, s.b_row_stride = s.n, s.c_row_stride = s.n;
  s.epilogue = epilogue;
  auto kernel = generate_matmul(s, profile);
  EXPECT_TRUE(kernel.ok()) << error_text(kernel.error());
  auto runnable = RunnableKernel::load(*kernel);
  EXPECT_TRUE(runnable.ok());
  float one = 1;
  std::vector<float> results(values.size());
  runnable->run({results.data(), &one, const_cast<float*>(values.data())});
  return results;
}

Epilogue unary(EpilogueOp op) {
  EpilogueBuilder e;
  return e.finish(e.unary(op, e.accumulator()));
}

using EpilogueMath = KernelTest;

TEST_P(EpilogueMath, FunctionsAreAccurate) {
  const std::pair<EpilogueOp, float> functions[] = {{EpilogueOp::kExp, 87.0f},
                                                    {EpilogueOp::kTanh, 12.0f},
                                                    {EpilogueOp::kErf, 6.0f},
                                                    {EpilogueOp::kSigmoid, 80.0f}};
  for (const auto& [op, limit] : functions) {
    std::vector<float> x;
    for (int i = -4000; i <= 4000; ++i) x.push_back(limit * static_cast<float>(i) / 4000.0f);
    for (int i = -400; i <= 400; ++i) x.push_back(static_cast<float>(i) * 1e-4f);
    const Epilogue epilogue = unary(op);
    const auto y = apply_epilogue(epilogue, x, profile_);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = reference_epilogue(epilogue, x[i], {});
      if (expected != 0) worst = std::max(worst, std::fabs(y[i] - expected) / std::fabs(expected));
    }
    EXPECT_LT(worst, 1e-6) << "op " << static_cast<int>(op);
    EXPECT_GT(worst, 0) << "op " << static_cast<int>(op) << ": nothing was compared";
  }
}

TEST_P(EpilogueMath, LimitsAndNan) {
  const std::vector<float> x = {kInfinity, -kInfinity, 1e30f, -1e30f, 200.0f, -200.0f, 0.0f};
  const auto check = [&](EpilogueOp op, const std::vector<float>& expected) {
    EXPECT_EQ(apply_epilogue(unary(op), x, profile_), expected) << "op " << static_cast<int>(op);
  };
  check(EpilogueOp::kExp, {kInfinity, 0, kInfinity, 0, kInfinity, 0, 1});
  check(EpilogueOp::kSigmoid, {1, 0, 1, 0, 1, 0, 0.5f});
  check(EpilogueOp::kRelu, {kInfinity, 0, 1e30f, 0, 200, 0, 0});
  for (EpilogueOp op : {EpilogueOp::kTanh, EpilogueOp::kErf}) {
    const auto y = apply_epilogue(unary(op), x, profile_);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i] > 0 ? 1 : x[i] < 0 ? -1 : 0, 1e-6);
  }
  for (EpilogueOp op : {EpilogueOp::kExp, EpilogueOp::kTanh, EpilogueOp::kErf, EpilogueOp::kSigmoid,
                        EpilogueOp::kRelu, EpilogueOp::kSqrt, EpilogueOp::kAbs, EpilogueOp::kNeg,
                        EpilogueOp::kReciprocal}) {
    EXPECT_TRUE(std::isnan(apply_epilogue(unary(op), {kNan}, profile_)[0]))
        << "op " << static_cast<int>(op);
  }
}

TEST_P(EpilogueMath, MaxMinAndSelect) {
  const std::vector<float> x = {-2, -0.5f, 0.5f, 2, kNan};
  EpilogueBuilder clip;
  auto y = apply_epilogue(clip.finish(clip.clip(clip.accumulator(), -1, 1)), x, profile_);
  EXPECT_EQ(std::vector<float>(y.begin(), y.end() - 1), (std::vector<float>{-1, -0.5f, 0.5f, 1}));
  EXPECT_TRUE(std::isnan(y[4]));
  EpilogueBuilder both;
  const int a = both.accumulator();
  const int negative = both.unary(EpilogueOp::kNeg, a);
  y = apply_epilogue(both.finish(both.binary(EpilogueOp::kMax, a, negative)), x, profile_);
  EXPECT_EQ(std::vector<float>(y.begin(), y.end() - 1), (std::vector<float>{2, 0.5f, 0.5f, 2}));
  EXPECT_TRUE(std::isnan(y[4]));
  EpilogueBuilder one_nan;  // NaN in the second operand only
  const int value = one_nan.accumulator();
  const int zero = one_nan.sub(value, value);
  y = apply_epilogue(one_nan.finish(one_nan.binary(EpilogueOp::kMin, one_nan.constant(3),
                                                   one_nan.add(zero, value))),
                     x, profile_);
  EXPECT_TRUE(std::isnan(y[4]));
  EpilogueBuilder leaky;
  y = apply_epilogue(leaky.finish(leaky.leaky_relu(leaky.accumulator(), 0.5f)), x, profile_);
  EXPECT_EQ(std::vector<float>(y.begin(), y.end() - 1), (std::vector<float>{-1, -0.25f, 0.5f, 2}));
  EpilogueBuilder earlier;  // a result that is not the last value
  const int square = earlier.mul(earlier.accumulator(), earlier.accumulator());
  earlier.constant(7);
  y = apply_epilogue(earlier.finish(square), x, profile_);
  EXPECT_EQ(y[3], 4);
}

INSTANTIATE_TEST_SUITE_P(Profiles, EpilogueMath, testing::ValuesIn(profile_names()),
                         [](const auto& info) {
                           return info.param.substr(info.param.find('-') + 1);
                         });

TEST(Epilogue, ChecksNameTheProblem) {
  Epilogue e;
  e.code = {{EpilogueOp::kAccumulator}, {EpilogueOp::kAdd, 0, 1}};
  EXPECT_FALSE(check_epilogue(e, 0).ok());
  e.code = {{EpilogueOp::kAccumulator}, {EpilogueOp::kAdd, 0, 0}};
  EXPECT_TRUE(check_epilogue(e, 0).ok());
  e.operands = {{{}, 0, 2}};
  EXPECT_FALSE(check_epilogue(e, 0).ok());
  e.operands = {{{1, 2}, 0, 1}};
  EXPECT_FALSE(check_epilogue(e, 1).ok());
  EXPECT_TRUE(check_epilogue(e, 2).ok());
}

}  // namespace
}  // namespace sluice
