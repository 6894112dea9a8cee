#include "common/eval/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

namespace sluice::eval {
namespace {

// By the definition, in extended precision.
std::vector<Complex> defined(const std::vector<Complex>& line, bool inverse) {
  const size_t n = line.size();
  std::vector<Complex> result(n);
  for (size_t k = 0; k < n; ++k) {
    long double re = 0, im = 0;
    for (size_t i = 0; i < n; ++i) {
      const long double angle = (inverse ? 2 : -2) * std::numbers::pi_v<long double> *
                                static_cast<long double>(i * k % n) / static_cast<long double>(n);
      re += line[i].re * std::cos(angle) - line[i].im * std::sin(angle);
      im += line[i].re * std::sin(angle) + line[i].im * std::cos(angle);
    }
    const long double scale = inverse ? 1 / static_cast<long double>(n) : 1;
    result[k] = {static_cast<double>(re * scale), static_cast<double>(im * scale)};
  }
  return result;
}

TEST(FourierTransform, OfEveryLength) {
  std::mt19937 random;
  std::uniform_real_distribution<double> numbers(-1, 1);
  std::vector<int64_t> lengths = {64, 97, 100, 128, 441, 512, 1009};
  for (int64_t n = 1; n <= 40; ++n) lengths.push_back(n);
  for (const int64_t n : lengths) {
    std::vector<Complex> line(static_cast<size_t>(n));
    for (Complex& value : line) value = {numbers(random), numbers(random)};
    const FourierTransform transform(n);
    for (const bool inverse : {false, true}) {
      std::vector<Complex> found = line;
      transform.run(found, inverse);
      const std::vector<Complex> expected = defined(line, inverse);
      for (size_t k = 0; k < line.size(); ++k) {
        ASSERT_NEAR(found[k].re, expected[k].re, 1e-12 * static_cast<double>(n)) << n << " " << k;
        ASSERT_NEAR(found[k].im, expected[k].im, 1e-12 * static_cast<double>(n)) << n << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::eval
