// Prints what one thread can multiply and add at most, as JSON:
// {"avx512":GFLOP/s,"avx2":...,"generic":...}; 0 for what this CPU does not have.
//
// Independent chains of x = x * a + b, as many as the registers hold minus two for a and b, so that
// neither latency nor memory counts. generic is SSE2, a multiplication and an addition; the best of
// several short trials is the peak.
#include <algorithm>
#include <chrono>
#include <cstdio>

namespace {

constexpr long kRounds = 2'000'000;

typedef float Vector16 __attribute__((vector_size(64)));
typedef float Vector8 __attribute__((vector_size(32)));
typedef float Vector4 __attribute__((vector_size(16)));

// Seconds for kRounds rounds of `kChains` chains; the sum of the chains goes to *result so that the
// work is not dropped.
template <typename Vector, int kChains>
[[gnu::always_inline]] inline double seconds(float* result) {
  const Vector a = Vector{} + 0.999F, b = Vector{} + 0.001F;
  Vector chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = Vector{} + static_cast<float>(i);
  const auto start = std::chrono::steady_clock::now();
  for (long round = 0; round < kRounds; ++round) {
#pragma GCC unroll 32
    for (int i = 0; i < kChains; ++i) chains[i] = chains[i] * a + b;
  }
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (int i = 0; i < kChains; ++i) *result += chains[i][0];
  return elapsed;
}

[[gnu::target("avx512f,prefer-vector-width=512"), gnu::noinline]] double seconds_avx512(
    float* result) {
  return seconds<Vector16, 24>(result);
}
[[gnu::target("avx2,fma"), gnu::noinline]] double seconds_avx2(float* result) {
  return seconds<Vector8, 12>(result);
}
[[gnu::noinline]] double seconds_generic(float* result) { return seconds<Vector4, 12>(result); }

double peak(bool supported, double (*measure)(float*), int lanes, int chains, float* result) {
  if (!supported) return 0;
  double best = measure(result);
  for (int trial = 0; trial < 10; ++trial) best = std::min(best, measure(result));
  return 2.0 * lanes * chains * static_cast<double>(kRounds) / best * 1e-9;
}

}  // namespace

int main() {
  float result = 0;
  const double avx512 = peak(__builtin_cpu_supports("avx512f"), seconds_avx512, 16, 24, &result);
  const double avx2 = peak(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
                           seconds_avx2, 8, 12, &result);
  const double generic = peak(true, seconds_generic, 4, 12, &result);
  std::printf("{\"avx512\":%.1f,\"avx2\":%.1f,\"generic\":%.1f}\n", avx512, avx2, generic);
  return result < 0 ? 6 : 0;  // never: the chains stay positive
}
