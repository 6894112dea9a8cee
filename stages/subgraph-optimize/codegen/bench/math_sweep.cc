// Not a unit test: measures the functions of math.h on many arguments. Prints for each function,
// profile, type and precision the largest error and the nanoseconds per element in the first
// cache, and exits with 1 when an error is above its limit.
//
//   math_sweep [COUNT [FUNCTION [PROFILE]]]     COUNT: bit patterns per function [default: 2^22]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "stages/subgraph-optimize/codegen/testing/kernel_timing.h"
#include "stages/subgraph-optimize/codegen/testing/math_functions.h"

namespace sluice {
namespace {

constexpr const char* kPrecisions[] = {"default", "high", "fast"};

template <typename T>
double nanoseconds(const MathFunction& function, const DeviceProfile& profile,
                   MathPrecision precision) {
  constexpr int kCount = 2048, kRepeats = 50;
  constexpr unsigned kBits = sizeof(T) * 8;
  const int lanes = profile.vector_bits / static_cast<int>(kBits);
  auto kernel = make_array_kernel(function.emit, {kBits, true, kBits, true}, lanes, kCount, profile,
                                  precision, kRepeats);
  if (!kernel) return NAN;
  std::mt19937 random(3);
  std::uniform_real_distribution<T> numbers(static_cast<T>(std::max(function.low, -9.0)),
                                            static_cast<T>(std::min(function.high, 9.0)));
  std::vector<T> x(kCount), y(kCount), results(kCount);
  for (T& number : x) number = numbers(random);
  for (T& number : y) number = numbers(random);
  return best_time(*kernel, {results.data(), x.data(), y.data()}, 0.01) * 1e9 / kCount / kRepeats;
}

// Returns whether the errors are within the limits.
template <typename T>
bool report(const MathFunction& function, int count, const std::vector<std::string>& profiles) {
  std::vector<T> x, y;
  make_arguments(function, count, x, y);
  bool good = true;
  for (const bool flushes : {false, true}) {
    const auto expected = references(function, x, y, flushes);
    for (const std::string& name : profiles) {
      const DeviceProfile profile = *get_profile(name);
      if (!cpu_supports(profile.isa)) continue;
      for (int p = 0; p < (sizeof(T) == 4 ? 3 : 1); ++p) {
        const auto precision = static_cast<MathPrecision>(p);
        const auto results = apply(function, x, y, profile, precision, flushes);
        const MathError error = measure(results, expected, flushes);
        const bool within = is_within(function, error, precision, sizeof(T) == 4);
        good &= within;
        if (flushes && within) continue;
        std::printf("%-14s %-3s %-8s %-11s %10.3f ULP  %8.1e  %7.3f ns%s", function.name.c_str(),
                    sizeof(T) == 4 ? "f32" : "f64", kPrecisions[p], name.c_str() + 4, error.ulp,
                    error.relative, nanoseconds<T>(function, profile, precision),
                    flushes ? "  flushing" : "");
        if (!within)
          std::printf("  ABOVE at (%.17g, %.17g): %.17g, expected %.17Lg",
                      static_cast<double>(x[error.at]), static_cast<double>(y[error.at]),
                      static_cast<double>(results[error.at]), expected[error.at]);
        std::printf("\n");
        std::fflush(stdout);
      }
    }
  }
  return good;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 1 << 22;
  const std::string only = argc > 2 ? argv[2] : "all";
  std::vector<std::string> profiles = {"cpu-avx512", "cpu-avx2", "cpu-generic"};
  if (argc > 3) profiles = {argv[3]};
  bool good = true;
  for (const sluice::MathFunction& function : sluice::math_functions()) {
    if (only != "all" && only != function.name) continue;
    good &= sluice::report<float>(function, count, profiles);
    good &= sluice::report<double>(function, count / 4, profiles);
  }
  return good ? 0 : 1;
}
