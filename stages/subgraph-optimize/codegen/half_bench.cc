// Prints the speed of contractions in f32, f16 and bf16, whose kernels run in turns on one thread:
// products of BERT-base, convolutions of ResNet-50 and SqueezeNet.
//
//   half_bench [profile]
#include <chrono>
#include <cstdio>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/kernel_timing.h"

namespace sluice {
namespace {

constexpr DType kDTypes[] = {DType::kF32, DType::kF16, DType::kBF16};
constexpr double kSeconds = 0.6;  // for the kernels of a size

// One kernel with its operands.
struct Run {
  RunnableKernel kernel;
  std::vector<std::vector<std::byte>> operands;
  std::vector<void*> pointers;
  double best = 1e9;
};

Run make_run(const GeneratedKernel& kernel, DType dtype, const std::vector<int64_t>& elements) {
  std::mt19937 random(1);
  Run run{*RunnableKernel::load(kernel), {}, {}};
  for (const int64_t count : elements) {
    const auto numbers = random_floats(static_cast<size_t>(count), random);
    run.operands.push_back(elements_of(numbers, dtype));
    run.pointers.push_back(run.operands.back().data());
  }
  return run;
}

Epilogue biased(DType dtype) {
  EpilogueBuilder e;
  const int sum = e.add(e.accumulator(), e.load(EpilogueOperand::column(), dtype));
  return e.finish(e.relu(sum), dtype);
}

void race(const std::string& name, std::vector<Run>& runs, int64_t multiply_adds) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (int i = 0; i < 3 || seconds() < kSeconds; ++i) {
    for (Run& run : runs) {
      const double begin = thread_seconds();
      run.kernel.run(run.pointers);
      run.best = std::min(run.best, thread_seconds() - begin);
    }
  }
  std::printf("%-36s", name.c_str());
  for (const Run& run : runs) {
    std::printf("  %6.1f GMAC/s (x %.2f)", 1e-9 * static_cast<double>(multiply_adds) / run.best,
                runs[0].best / run.best);
  }
  std::printf("\n");
}

void bench_matmul(const std::string& name, const MatMulSpec& s, const DeviceProfile& profile) {
  int64_t batch = 1;
  for (const BatchAxis& axis : s.batch) batch *= axis.size.nominal;
  std::vector<Run> runs;
  int64_t multiply_adds = 0;
  for (const DType dtype : kDTypes) {
    MatMulSpec own = s;
    own.dtype = dtype;
    own.epilogue = biased(dtype);
    const auto kernel = generate_matmul(own, profile);
    if (!kernel) return static_cast<void>(std::puts(error_text(kernel.error()).c_str()));
    multiply_adds = kernel->multiply_adds.nominal;
    runs.push_back(make_run(*kernel, dtype,
                            {batch * s.m.nominal * s.n.nominal, batch * s.m.nominal * s.k.nominal,
                             batch * (s.k.nominal + 1) * (s.n.nominal + 128), s.n.nominal}));
  }
  race(name, runs, multiply_adds);
}

void bench_products(const DeviceProfile& profile) {
  for (const auto& [m, k, n] : {std::tuple{128, 768, 768},
                                {128, 3072, 768},
                                {512, 1024, 1024},
                                {1, 2048, 1000},
                                {8, 768, 3072},
                                {3136, 64, 64}}) {
    MatMulSpec s;
    s.m = m, s.n = n, s.k = k, s.a_row_stride = k, s.c_row_stride = n, s.b_packed = true;
    bench_matmul(fmt::format("{}x{}x{} packed", m, k, n), s, profile);
  }
  for (const auto& [m, k, n] : {std::tuple{128, 64, 128}, {128, 128, 64}, {384, 64, 384}}) {
    for (const bool transposed : {false, true}) {
      MatMulSpec s;
      s.m = m, s.n = n, s.k = k, s.a_row_stride = k, s.c_row_stride = n;
      s.b_row_stride = transposed ? 1 : n, s.b_column_stride = transposed ? k : 1;
      s.batch = {{12, m * k, k * n, m * n}};
      bench_matmul(fmt::format("12x{}x{}x{}{}", m, k, n, transposed ? " B transposed" : ""), s,
                   profile);
    }
  }
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  const auto profile = sluice::get_profile(argc > 1 ? argv[1] : "native");
  if (!profile) return std::fprintf(stderr, "%s\n", sluice::error_text(profile.error()).c_str()), 1;
  sluice::bench_products(*profile);
  return 0;
}
