#include "common/eval/math64.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "common/base/inverse_pi.h"

namespace sluice::eval::math {
namespace {

using Wide = long double;  // 64 bits of mantissa

constexpr Wide kLn2 = 0.693147180559945309417232121458176568L;
constexpr Wide kWidePi = 3.141592653589793238462643383279502884L;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Computes the sum of r^k / k! for k >= 1, |r| <= ln 2 / 2.
Wide expm1_series(Wide r) {
  Wide sum = 0;
  for (int k = 22; k >= 1; --k) sum = (1 + sum) * r / k;
  return sum;
}

// Computes e^x for |x| below 12000 with a relative error of about 2^-62 (ln 2 is split so that n *
// high is exact).
Wide wide_exp(Wide x) {
  constexpr Wide kHigh = 0x1.62e42fefa2p-1L;
  constexpr Wide kLow = 0x1.9ef35793c7673p-41L;
  const Wide n = std::nearbyint(x / kLn2);
  const Wide r = (x - n * kHigh) - n * kLow;
  return std::ldexp(1 + expm1_series(r), static_cast<int>(n));
}

// Computes 2 * atanh(s) = 2 (s + s^3/3 + ...), |s| <= 0.172.
Wide atanh_series(Wide s) {
  const Wide square = s * s;
  Wide sum = 0;
  for (int k = 27; k >= 1; k -= 2) sum = sum * square + Wide(1) / k;
  return 2 * s * sum;
}

Wide wide_log(Wide x) {
  int exponent = 0;
  Wide m = std::frexp(x, &exponent);  // in [1/2, 1)
  if (m < 0.70710678118654752440L) {
    m *= 2;
    --exponent;
  }
  return exponent * kLn2 + atanh_series((m - 1) / (m + 1));
}

Wide wide_log1p(Wide x) {
  return std::abs(x) < 0.25L ? atanh_series(x / (2 + x)) : wide_log(1 + x);
}

struct Reduced {
  Wide r;        // |r| <= pi / 4
  int quadrant;  // 0 to 3
};

// Returns 64 bits of 1 / pi after those of weight 2^-first.
uint64_t bits_of_inverse_pi(int first) {
  const size_t word = static_cast<size_t>(first) / 64;
  const int shift = first % 64;
  const uint64_t high = kInversePi[word] << shift;
  return shift == 0 ? high : high | kInversePi[word + 1] >> (64 - shift);
}

// Payne and Hanek's reduction of |x| = m 2^e: of m times 1 / pi modulo 2, in units of 2^-127, only
// the bits of 1 / pi around the weight 2^-e matter.
Reduced reduce_large(double x) {
  __extension__ using U128 = unsigned __int128;
  __extension__ using I128 = __int128;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t m = (bits & ((uint64_t{1} << 52) - 1)) | uint64_t{1} << 52;
  const int first = static_cast<int>(bits >> 52 & 0x7ff) - 1075 + 63;
  U128 quotient = U128{m * bits_of_inverse_pi(first)} << 64;
  quotient += U128{m} * bits_of_inverse_pi(first + 64);
  quotient += U128{m} * bits_of_inverse_pi(first + 128) >> 64;
  const U128 n = (quotient + (U128{1} << 125)) >> 126;  // 0 to 3: a sum above 2 begins again
  const auto distance = static_cast<I128>(quotient - (n << 126));
  const Wide r = std::ldexp(static_cast<Wide>(distance), -126) * (kWidePi / 2);
  const auto quadrant = static_cast<int>(n);
  return x < 0 ? Reduced{-r, -quadrant & 3} : Reduced{r, quadrant};
}

// Computes x - n * pi/2 with pi/2 in parts of 40 bits, so that the products are exact while n has
// less than 24 bits.
Reduced reduce_angle(double x) {
  constexpr Wide kFirst = 0x1.921fb54442p+0L;
  constexpr Wide kSecond = 0x1.a308d31318p-41L;
  constexpr Wide kThird = 0x1.8a2e03707344ap-81L;
  if (std::abs(x) > 1e7) return reduce_large(x);
  const Wide wide = x;
  const Wide n = std::nearbyint(wide / (kWidePi / 2));
  const Wide r = ((wide - n * kFirst) - n * kSecond) - n * kThird;
  return {r, static_cast<int>(static_cast<long long>(n) & 3)};
}

Wide sin_series(Wide r) {
  const Wide square = r * r;
  Wide sum = 1;
  for (int k = 25; k >= 3; k -= 2) sum = 1 - sum * square / (k * (k - 1));
  return r * sum;
}

Wide cos_series(Wide r) {
  const Wide square = r * r;
  Wide sum = 1;
  for (int k = 26; k >= 2; k -= 2) sum = 1 - sum * square / (k * (k - 1));
  return sum;
}

Wide wide_sin(const Reduced& x) {
  const Wide value = x.quadrant % 2 == 0 ? sin_series(x.r) : cos_series(x.r);
  return x.quadrant >= 2 ? -value : value;
}

// Halves the angle twice, so that |x| is below 0.21, then sums the series.
Wide wide_atan(Wide x) {
  const bool inverse = std::abs(x) > 1;
  Wide t = inverse ? 1 / x : x;
  for (int i = 0; i < 2; ++i) t = t / (1 + std::sqrt(1 + t * t));
  const Wide square = t * t;
  Wide sum = 0;
  for (int k = 31; k >= 1; k -= 2) sum = Wide(1) / k - sum * square;
  const Wide angle = 4 * t * sum;
  return inverse ? (x > 0 ? kWidePi / 2 : -kWidePi / 2) - angle : angle;
}

bool is_odd(double y) { return std::abs(y) < 0x1p53 && std::fmod(y, 2) != 0; }

double pow_positive(double x, double y) {
  const Wide power = wide_log(x) * y;
  if (power > 710) return kInfinity;
  if (power < -746) return 0;
  return static_cast<double>(wide_exp(power));
}

Wide wide_integer_power(Wide x, int n) {
  Wide result = 1;
  for (; n > 0; n /= 2, x *= x) {
    if (n % 2 == 1) result *= x;
  }
  return result;
}

}  // namespace

double exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 710) return kInfinity;
  if (x < -746) return 0;
  return static_cast<double>(wide_exp(x));
}

double expm1(double x) {
  if (std::isnan(x)) return x;
  if (std::abs(x) < 0.34) return x == 0 ? x : static_cast<double>(expm1_series(x));
  if (x > 710) return kInfinity;
  return x < -50 ? -1 : static_cast<double>(wide_exp(x) - 1);
}

double log(double x) {
  if (std::isnan(x) || x == kInfinity) return x;
  if (x == 0) return -kInfinity;
  return x < 0 ? kNaN : static_cast<double>(wide_log(x));
}

double log1p(double x) {
  if (std::isnan(x) || x == kInfinity || x == 0) return x;
  if (x == -1) return -kInfinity;
  return x < -1 ? kNaN : static_cast<double>(wide_log1p(x));
}

// Computes IEEE 754's pow, special values first.
double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (std::isnan(x) || std::isnan(y)) return kNaN;
  if (std::isinf(y)) {
    const double magnitude = std::abs(x);
    if (magnitude == 1) return 1;
    return (magnitude > 1) == (y > 0) ? kInfinity : 0;
  }
  const bool integral = std::nearbyint(y) == y;
  const double sign = std::signbit(x) && integral && is_odd(y) ? -1.0 : 1.0;
  if (x == 0) return y < 0 ? sign * kInfinity : sign * 0.0;
  if (std::isinf(x)) return y < 0 ? sign * 0.0 : sign * kInfinity;
  if (x < 0 && !integral) return kNaN;
  if (integral && std::abs(y) <= 32) {
    const Wide power = wide_integer_power(x, static_cast<int>(std::abs(y)));
    return static_cast<double>(y < 0 ? 1 / power : power);
  }
  return sign * pow_positive(std::abs(x), y);
}

double sin(double x) {
  return std::isfinite(x) ? (x == 0 ? x : static_cast<double>(wide_sin(reduce_angle(x)))) : kNaN;
}

double cos(double x) {
  if (!std::isfinite(x)) return kNaN;
  Reduced shifted = reduce_angle(x);
  shifted.quadrant = (shifted.quadrant + 1) & 3;
  return static_cast<double>(wide_sin(shifted));
}

double tan(double x) {
  if (!std::isfinite(x)) return kNaN;
  if (x == 0) return x;
  const Reduced reduced = reduce_angle(x);
  const Wide tangent = sin_series(reduced.r) / cos_series(reduced.r);
  return static_cast<double>(reduced.quadrant % 2 == 0 ? tangent : -1 / tangent);
}

double asin(double x) {
  if (!(std::abs(x) <= 1)) return kNaN;
  if (x == 0) return x;
  const Wide wide = x;
  return static_cast<double>(2 * wide_atan(wide / (1 + std::sqrt((1 - wide) * (1 + wide)))));
}

double acos(double x) {
  if (!(std::abs(x) <= 1)) return kNaN;
  const Wide wide = x;
  return static_cast<double>(
      x == -1 ? kWidePi : 2 * wide_atan(std::sqrt((1 - wide) * (1 + wide)) / (1 + wide)));
}

double atan(double x) {
  if (std::isnan(x) || x == 0) return x;
  if (std::isinf(x)) return static_cast<double>(x > 0 ? kWidePi / 2 : -kWidePi / 2);
  return static_cast<double>(wide_atan(x));
}

double sinh(double x) {
  if (!std::isfinite(x) || x == 0) return x;
  if (std::abs(x) > 711) return x > 0 ? kInfinity : -kInfinity;
  if (std::abs(x) < 0.34) {
    const Wide small = expm1_series(x);
    return static_cast<double>((small + small / (small + 1)) / 2);
  }
  const Wide e = wide_exp(x);
  return static_cast<double>((e - 1 / e) / 2);
}

double cosh(double x) {
  if (std::isnan(x)) return x;
  if (std::abs(x) > 711) return kInfinity;
  const Wide e = wide_exp(x);
  return static_cast<double>((e + 1 / e) / 2);
}

double tanh(double x) {
  if (std::isnan(x) || x == 0) return x;
  if (std::abs(x) > 22) return x > 0 ? 1 : -1;
  const Wide t = std::abs(x) < 0.17 ? expm1_series(2 * Wide(x)) : wide_exp(2 * Wide(x)) - 1;
  return static_cast<double>(t / (t + 2));
}

double asinh(double x) {
  if (!std::isfinite(x) || x == 0) return x;
  const Wide a = std::abs(static_cast<Wide>(x));
  const Wide value = wide_log1p(a + a * a / (1 + std::sqrt(1 + a * a)));
  return static_cast<double>(x < 0 ? -value : value);
}

double acosh(double x) {
  if (std::isnan(x) || x == kInfinity) return x;
  if (x < 1) return kNaN;
  const Wide above = static_cast<Wide>(x) - 1;
  return static_cast<double>(wide_log1p(above + std::sqrt(above * (above + 2))));
}

double atanh(double x) {
  if (!(std::abs(x) <= 1)) return kNaN;
  if (std::abs(x) == 1) return x * kInfinity;
  if (x == 0) return x;
  return static_cast<double>(wide_log1p(2 * static_cast<Wide>(x) / (1 - static_cast<Wide>(x))) / 2);
}

// Sums the series 7.1.6 of Abramowitz and Stegun: all terms have one sign, so there is no
// cancellation.
double erf(double x) {
  if (std::isnan(x) || x == 0) return x;
  if (std::abs(x) > 6) return x > 0 ? 1 : -1;
  const Wide wide = x;
  Wide term = wide;
  Wide sum = wide;
  for (int n = 1; n < 200 && std::abs(term) > std::abs(sum) * 0x1p-68L; ++n) {
    term *= 2 * wide * wide / (2 * n + 1);
    sum += term;
  }
  return static_cast<double>(2 / std::sqrt(kWidePi) * wide_exp(-wide * wide) * sum);
}

}  // namespace sluice::eval::math
