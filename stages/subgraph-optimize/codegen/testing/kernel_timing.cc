#include "stages/subgraph-optimize/codegen/testing/kernel_timing.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>

namespace sluice {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

FloatBuffer::FloatBuffer(int64_t count)
    : data_(static_cast<float*>(
          std::aligned_alloc(4096, (static_cast<size_t>(count) * 4 + 4096) / 4096 * 4096))) {
  for (int64_t i = 0; i < count; ++i)
    data_[i] = static_cast<float>((i * 7919) % 2001 - 1000) / 1e4f;
}

FloatBuffer::~FloatBuffer() { std::free(data_); }

double best_time(RunnableKernel& kernel, const std::vector<void*>& pointers, double limit) {
  kernel.run(pointers);
  double best = 1e9;
  const double start = thread_seconds();
  for (int i = 0; i < 200 && (i < 5 || thread_seconds() - start < limit); ++i) {
    const double begin = thread_seconds();
    kernel.run(pointers);
    best = std::min(best, thread_seconds() - begin);
  }
  return best;
}

double measure_peak(const DeviceProfile& profile) {
  MatMulSpec s;
  s.m = 24, s.n = profile.vector_bits / 32 * 2, s.k = 128;
  s.a_row_stride = s.k.nominal, s.c_row_stride = s.n.nominal, s.b_packed = true;
  s.batch = {{4000, 0, 0, 0}};
  const auto kernel = generate_matmul(s, profile);
  if (!kernel) return 0;
  auto runnable = RunnableKernel::load(*kernel);
  FloatBuffer a(s.m.nominal * s.k.nominal), b(s.n.nominal * s.k.nominal),
      c(s.m.nominal * s.n.nominal);
  return 2.0 * static_cast<double>(kernel->multiply_adds.nominal) /
         best_time(*runnable, {c.data(), a.data(), b.data()}, 0.06);
}

}  // namespace sluice
