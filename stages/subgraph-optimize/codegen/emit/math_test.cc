#include "stages/subgraph-optimize/codegen/emit/math.h"

#include <bit>
#include <cmath>

#include "stages/subgraph-optimize/codegen/testing/kernel_test.h"
#include "stages/subgraph-optimize/codegen/testing/math_functions.h"

namespace sluice {
namespace {

constexpr int kPatterns = 6000;  // per function; math_sweep takes millions

class MathTest : public KernelTest {
 protected:
  template <typename T>
  void expect_accurate(const MathFunction& function, bool flushes,
                       std::initializer_list<MathPrecision> precisions) {
    std::vector<T> x, y;
    make_arguments(function, kPatterns, x, y);
    const auto expected = references(function, x, y, flushes);
    for (const MathPrecision precision : precisions) {
      const auto results = apply(function, x, y, profile_, precision, flushes);
      const MathError error = measure(results, expected, flushes);
      EXPECT_TRUE(is_within(function, error, precision, sizeof(T) == 4))
          << function.name << " of f" << sizeof(T) * 8 << ", precision "
          << static_cast<int>(precision) << (flushes ? ", flushing" : "") << ": " << error.ulp
          << " ULP, " << error.relative << " at (" << x[error.at] << ", " << y[error.at]
          << "): " << results[error.at] << ", not " << expected[error.at];
    }
  }
};

TEST_P(MathTest, SinglesAreAccurate) {
  for (const MathFunction& function : math_functions())
    for (const bool flushes : {false, true})
      expect_accurate<float>(
          function, flushes,
          {MathPrecision::kDefault, MathPrecision::kHigh, MathPrecision::kPerformance});
}

TEST_P(MathTest, DoublesAreAccurate) {
  for (const MathFunction& function : math_functions())
    for (const bool flushes : {false, true})
      expect_accurate<double>(function, flushes, {MathPrecision::kDefault});
}

// Scalars, parts of registers and several registers give the same bits.
TEST_P(MathTest, LanesDoNotMatter) {
  constexpr int kCount = 240;
  for (const MathFunction& function : math_functions()) {
    std::vector<float> x, y;
    make_arguments(function, kCount, x, y);
    std::vector<std::vector<float>> results;
    for (const int lanes : {1, 3, 16, 20}) {
      auto kernel = make_array_kernel(function.emit, {32, true, 32, true}, lanes, kCount, profile_,
                                      MathPrecision::kDefault);
      ASSERT_TRUE(kernel.ok()) << function.name << ": " << error_text(kernel.error());
      results.emplace_back(kCount);
      kernel->run({results.back().data(), x.data(), y.data()});
      for (int i = 0; i < kCount; ++i) {
        const float first = results[0][i], other = results.back()[i];
        EXPECT_TRUE(std::bit_cast<uint32_t>(first) == std::bit_cast<uint32_t>(other) ||
                    (std::isnan(first) && std::isnan(other)))
            << function.name << " of " << x[i] << " in " << lanes << " lanes: " << other << ", not "
            << first;
      }
    }
  }
}

TEST_P(MathTest, ASquareIsOneProduct) {
  const std::vector<float> x = {0.1f, -3.3f, 1e-30f, 1e30f, -0.0f, 1.1f, 7.7f, INFINITY};
  std::vector<float> y(8, 2.0f), results(8);
  for (const bool is_constant : {false, true}) {
    const EmitElement emit = [&](MathEmitter& m, llvm::Value* a, llvm::Value* b) {
      return m.pow(a, is_constant ? llvm::ConstantFP::get(a->getType(), 2) : b);
    };
    auto kernel =
        make_array_kernel(emit, {32, true, 32, true}, 8, 8, profile_, MathPrecision::kDefault);
    ASSERT_TRUE(kernel.ok());
    kernel->run({results.data(), const_cast<float*>(x.data()), y.data()});
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(results[i], x[i] * x[i]);
  }
}

// A constant operand takes one instruction, and NaN still wins.
TEST_P(MathTest, MaximumOfAConstantKeepsNan) {
  std::vector<float> x = {NAN, 1.0f, -1.0f, 3.0f}, results(4);
  const EmitElement emit = [](MathEmitter& m, llvm::Value* a, llvm::Value*) {
    return m.maximum(a, m.minimum(a, llvm::ConstantFP::get(a->getType(), 2)));
  };
  auto kernel =
      make_array_kernel(emit, {32, true, 32, true}, 4, 4, profile_, MathPrecision::kDefault);
  ASSERT_TRUE(kernel.ok());
  kernel->run({results.data(), x.data(), x.data()});
  EXPECT_TRUE(std::isnan(results[0]));
  EXPECT_EQ(results[1], 1.0f);
  EXPECT_EQ(results[2], -1.0f);
  EXPECT_EQ(results[3], 3.0f);
}

INSTANTIATE_TEST_SUITE_P(Profiles, MathTest,
                         testing::Values("cpu-avx512", "cpu-avx2", "cpu-generic"),
                         [](const auto& info) { return info.param.substr(4); });

}  // namespace
}  // namespace sluice
