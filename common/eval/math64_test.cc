#include "common/eval/math64.h"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::eval {
namespace {

// libm is right to within about one ulp; ours must be, too.
void expect_near(double ours, double theirs, double argument) {
  if (std::isnan(theirs)) {
    EXPECT_TRUE(std::isnan(ours)) << argument;
  } else if (std::isinf(theirs)) {
    EXPECT_EQ(ours, theirs) << argument;
  } else {
    EXPECT_NEAR(ours, theirs, std::abs(theirs) * 4.5e-16 + 5e-324) << argument;
  }
}

// The double nearest to a multiple of pi/2 (J.-M. Muller, Elementary Functions, 3rd edition,
// section 11.3.2).
TEST(Math64Test, ReducesTheWorstAngle) {
  const double x = std::ldexp(6381956970095103.0, 797);
  EXPECT_EQ(math::cos(x), -4.6871659242546276e-19);
  EXPECT_EQ(math::sin(x), 1);
}

TEST(Math64Test, AgreesWithLibm) {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> arguments = {0.0, 1.0,   -1.0,     0.5,   1e-10,  1e300, -1e300,
                                   inf, -inf,  2.2e-308, 709.5, -744.0, 1e6,   355.0,
                                   1e7, 1.1e7, -1e8,     1e15,  -1e22,  3e100};
  for (int i = -400; i <= 400; ++i) arguments.push_back(i * 0.0371 + 1e-3 * std::sqrt(std::abs(i)));
  for (const double x : arguments) {
    expect_near(math::exp(x), std::exp(x), x);
    expect_near(math::expm1(x), std::expm1(x), x);
    expect_near(math::log(x), std::log(x), x);
    expect_near(math::log1p(x), std::log1p(x), x);
    expect_near(math::sin(x), std::sin(x), x);
    expect_near(math::cos(x), std::cos(x), x);
    expect_near(math::tan(x), std::tan(x), x);
    expect_near(math::asin(x), std::asin(x), x);
    expect_near(math::acos(x), std::acos(x), x);
    expect_near(math::atan(x), std::atan(x), x);
    expect_near(math::sinh(x), std::sinh(x), x);
    expect_near(math::cosh(x), std::cosh(x), x);
    expect_near(math::tanh(x), std::tanh(x), x);
    expect_near(math::asinh(x), std::asinh(x), x);
    expect_near(math::acosh(x), std::acosh(x), x);
    expect_near(math::atanh(x), std::atanh(x), x);
    expect_near(math::erf(x), std::erf(x), x);
  }
}

TEST(Math64Test, Powers) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double x : {0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.3, 7.7, 1e-5, inf, -inf}) {
    for (const double y :
         {0.0, 1.0, 2.0, 3.0, -1.0, -3.0, 0.5, 1.5, -2.25, 40.0, 41.0, inf, -inf}) {
      expect_near(math::pow(x, y), std::pow(x, y), x);
    }
  }
}

}  // namespace
}  // namespace sluice::eval
