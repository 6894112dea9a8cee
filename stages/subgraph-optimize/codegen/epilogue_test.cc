#include "stages/subgraph-optimize/codegen/epilogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/loop/interpreter.h"
#include "stages/subgraph-optimize/codegen/testing/kernel_test.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {
namespace {

using loop::ScalarOp;

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
  if (!cpu_supports(profile.isa)) return apply_epilogue(epilogue, values, every_cpu());
  float one = 1;
  std::vector<float> results(values.size());
  runnable->run({results.data(), &one, const_cast<float*>(values.data())});
  return results;
}

Epilogue unary(ScalarOp op) {
  EpilogueBuilder e;
  return e.finish(e.scalar(op, e.accumulator()));
}

using EpilogueMath = KernelTest;

TEST_P(EpilogueMath, FunctionsAreAccurate) {
  const std::pair<ScalarOp, float> functions[] = {{ScalarOp::kExp, 87.0f},
                                                  {ScalarOp::kTanh, 12.0f},
                                                  {ScalarOp::kErf, 6.0f},
                                                  {ScalarOp::kSigmoid, 80.0f}};
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
  const auto check = [&](ScalarOp op, const std::vector<float>& expected) {
    EXPECT_EQ(apply_epilogue(unary(op), x, profile_), expected) << "op " << static_cast<int>(op);
  };
  check(ScalarOp::kExp, {kInfinity, 0, kInfinity, 0, kInfinity, 0, 1});
  check(ScalarOp::kSigmoid, {1, 0, 1, 0, 1, 0, 0.5f});
  EpilogueBuilder relu;
  EXPECT_EQ(apply_epilogue(relu.finish(relu.relu(relu.accumulator())), x, profile_),
            (std::vector<float>{kInfinity, 0, 1e30f, 0, 200, 0, 0}));
  for (ScalarOp op : {ScalarOp::kTanh, ScalarOp::kErf}) {
    const auto y = apply_epilogue(unary(op), x, profile_);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i] > 0 ? 1 : x[i] < 0 ? -1 : 0, 1e-6);
  }
  for (ScalarOp op : {ScalarOp::kExp, ScalarOp::kTanh, ScalarOp::kErf, ScalarOp::kSigmoid,
                      ScalarOp::kSqrt, ScalarOp::kAbs, ScalarOp::kNeg, ScalarOp::kReciprocal}) {
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
  const int negative = both.scalar(loop::ScalarOp::kNeg, a);
  y = apply_epilogue(both.finish(both.scalar(loop::ScalarOp::kMax, a, negative)), x, profile_);
  EXPECT_EQ(std::vector<float>(y.begin(), y.end() - 1), (std::vector<float>{2, 0.5f, 0.5f, 2}));
  EXPECT_TRUE(std::isnan(y[4]));
  EpilogueBuilder one_nan;  // NaN in the second operand only
  const int value = one_nan.accumulator();
  const int zero = one_nan.sub(value, value);
  y = apply_epilogue(one_nan.finish(one_nan.scalar(loop::ScalarOp::kMin, one_nan.constant(3),
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

TEST(Epilogue, ChecksNameTheProblem) {
  const auto sum_and = [](const auto& result) {
    EpilogueBuilder e;
    const int sum = e.accumulator();
    return e.finish(result(e, sum));
  };
  const auto later = [](EpilogueBuilder& e, int sum) { return e.add(sum, sum + 1); };
  EXPECT_FALSE(check_epilogue(sum_and(later), 0).ok());
  const auto two_types = [](EpilogueBuilder& e, int sum) {
    return e.add(sum, e.scalar(ScalarOp::kLess, sum, sum));
  };
  EXPECT_FALSE(check_epilogue(sum_and(two_types), 0).ok());
  Epilogue e = sum_and([](EpilogueBuilder& b, int sum) { return b.add(sum, sum); });
  EXPECT_TRUE(check_epilogue(e, 0).ok());
  EXPECT_FALSE(check_epilogue(e, 0, DType::kI32).ok());
  e.operands = {EpilogueOperand::scalar()};  // without a buffer
  EXPECT_FALSE(check_epilogue(e, 0).ok());
  const auto with_operand = [&](EpilogueOperand operand) {
    return sum_and([&](EpilogueBuilder& b, int sum) { return b.add(sum, b.load(operand)); });
  };
  EXPECT_FALSE(check_epilogue(with_operand({{}, 0, 2}), 0).ok());
  EXPECT_FALSE(check_epilogue(with_operand({{1, 2}, 0, 1}), 1).ok());
  EXPECT_TRUE(check_epilogue(with_operand({{1, 2}, 0, 1}), 2).ok());
}

// Instructions whose results are exact, so that the kernel and the interpreter agree in all bits.
constexpr ScalarOp kExact[] = {ScalarOp::kAdd,         ScalarOp::kSub,          ScalarOp::kMul,
                               ScalarOp::kDiv,         ScalarOp::kMax,          ScalarOp::kMin,
                               ScalarOp::kNeg,         ScalarOp::kAbs,          ScalarOp::kSign,
                               ScalarOp::kSqrt,        ScalarOp::kReciprocal,   ScalarOp::kFloor,
                               ScalarOp::kCeil,        ScalarOp::kRound,        ScalarOp::kFloorMod,
                               ScalarOp::kRoundToHalf, ScalarOp::kRoundToBfloat};

Epilogue random_epilogue(std::mt19937& random) {
  EpilogueBuilder e;
  std::vector<int> values = {e.accumulator()};
  const auto any = [&] { return values[random() % values.size()]; };
  for (int i = 0, length = 3 + static_cast<int>(random() % 20); i < length; ++i) {
    const uint32_t kind = random() % 8;
    const ScalarOp op = kExact[random() % std::size(kExact)];
    if (kind == 0) {
      values.push_back(e.constant(static_cast<float>(random() % 64) / 8 - 4));
    } else if (kind == 1) {
      const int a = any(), b = any(), yes = any(), no = any();
      values.push_back(e.select_less(a, b, yes, no));
    } else if (loop::scalar_row(op).operands == 2) {
      const int a = any(), b = any();
      values.push_back(e.scalar(op, a, b));
    } else {
      values.push_back(e.scalar(op, any()));
    }
  }
  return e.finish(values.back());
}

float interpreted(const Epilogue& epilogue, float sum) {
  float stored = 0;
  std::byte* const operands[] = {reinterpret_cast<std::byte*>(&stored),
                                 reinterpret_cast<std::byte*>(&sum)};
  auto run = loop::interpret(epilogue.loops, {}, operands);
  EXPECT_TRUE(run.ok()) << error_text(run.error());
  return stored;
}

TEST_P(EpilogueMath, RandomOnesAgreeWithTheInterpreter) {
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    std::vector<float> x = random_floats(40, random);
    for (size_t k = 0; k < x.size(); ++k) x[k] *= k % 4 == 0 ? 100 : 3;
    x.insert(x.end(), {kInfinity, -kInfinity, kNan, 0.0f, 2.5f});
    const Epilogue epilogue = random_epilogue(random);
    const std::vector<float> y = apply_epilogue(epilogue, x, profile_);
    for (size_t k = 0; k < x.size(); ++k) {
      const float expected = interpreted(epilogue, x[k]);
      ASSERT_TRUE(y[k] == expected || (std::isnan(y[k]) && std::isnan(expected)))
          << canonical_text(epilogue) << "of " << x[k] << ": " << y[k] << ", not " << expected;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, EpilogueMath, testing::ValuesIn(cpu_profiles()),
                         [](const auto& info) {
                           return info.param.substr(info.param.find('-') + 1);
                         });

}  // namespace
}  // namespace sluice
