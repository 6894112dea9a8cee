// Prints the speed of contractions in f32, f16 and bf16, whose kernels run in turns on one thread:
// products of BERT-base, convolutions of ResNet-50 and SqueezeNet, attention of BERT-base and of
// decoders, walks of recurrent cells.
//
//   half_bench [profile]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/attention/attention.h"
#include "stages/subgraph-optimize/codegen/recurrent/recurrent.h"
#include "stages/subgraph-optimize/codegen/testing/kernel_timing.h"

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
  int sum = e.add(e.accumulator(), e.load(EpilogueOperand::column(), dtype));
  // Models round after each node.
  if (dtype == DType::kF16) sum = e.scalar(loop::ScalarOp::kRoundToHalf, sum);
  if (dtype == DType::kBF16) sum = e.scalar(loop::ScalarOp::kRoundToBfloat, sum);
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

// A kernel, and the elements of its operands.
struct Made {
  Result<GeneratedKernel> kernel;
  std::vector<int64_t> elements;
};

void bench(const std::string& name, const std::function<Made(DType dtype)>& make) {
  std::vector<Run> runs;
  int64_t multiply_adds = 0;
  for (const DType dtype : kDTypes) {
    const Made made = make(dtype);
    if (!made.kernel) return static_cast<void>(std::puts(error_text(made.kernel.error()).c_str()));
    multiply_adds = made.kernel->multiply_adds.nominal;
    runs.push_back(make_run(*made.kernel, dtype, made.elements));
  }
  race(name, runs, multiply_adds);
}

void bench_matmul(const std::string& name, const MatMulSpec& s, const DeviceProfile& profile) {
  int64_t batch = 1;
  for (const BatchAxis& axis : s.batch) batch *= axis.size.nominal;
  bench(name, [&](DType dtype) -> Made {
    MatMulSpec own = s;
    own.dtype = dtype;
    own.epilogue = biased(dtype);
    return {generate_matmul(own, profile),
            {batch * s.m.nominal * s.n.nominal, batch * s.m.nominal * s.k.nominal,
             batch * (s.k.nominal + 1) * (s.n.nominal + 128), s.n.nominal}};
  });
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

ConvSpec square_conv(int64_t ci, int64_t co, int64_t kernel, int64_t stride, int64_t out) {
  ConvSpec s;
  s.ci = ci, s.co = co, s.kh = s.kw = kernel, s.stride_h = s.stride_w = stride;
  s.pad_top = s.pad_left = kernel / 2;
  s.oh = s.ow = out, s.h = s.w = out * stride;
  return s;
}

void bench_convolutions(const DeviceProfile& profile) {
  for (const auto& [ci, co, kernel, stride, out] : {std::tuple{3, 64, 7, 2, 112},
                                                    {16, 64, 1, 1, 55},
                                                    {16, 64, 3, 1, 55},
                                                    {64, 256, 3, 1, 13},
                                                    {512, 1000, 1, 1, 13},
                                                    {64, 64, 3, 1, 56},
                                                    {256, 64, 1, 1, 56},
                                                    {512, 512, 3, 1, 7}}) {
    const auto size = square_conv(ci, co, kernel, stride, out);
    bench(fmt::format("conv {}->{} k{} s{} @{}", ci, co, kernel, stride, out),
          [&](DType dtype) -> Made {
            ConvSpec s = size;
            s.dtype = dtype;
            s.epilogue = biased(dtype);
            const int64_t nr = choose_conv_plan(s, profile).nr;
            return {generate_conv(s, profile),
                    {s.oh.nominal * s.ow.nominal * s.co, s.h.nominal * s.w.nominal * s.ci,
                     packed_elements(conv_weight_packing(s, nr)), s.co}};
          });
  }
}

// Heads lie within the rows of the sequences.
AttentionSpec flat_attention(int64_t heads, int64_t kv_heads, int64_t queries, int64_t keys,
                             int64_t size, DType dtype) {
  AttentionSpec s;
  s.heads = heads, s.kv_heads = kv_heads, s.queries = queries, s.keys = keys;
  s.key_size = s.value_size = size;
  s.q = s.y = {queries * heads * size, size, heads * size, dtype};
  s.k = s.v = {keys * kv_heads * size, size, kv_heads * size, dtype};
  return s;
}

void bench_attention(const DeviceProfile& profile) {
  for (const auto& [heads, kv_heads, queries, keys, size] : {std::tuple{12, 12, 128, 128, 64},
                                                             {12, 12, 384, 384, 64},
                                                             {12, 12, 8, 1024, 64},
                                                             {12, 12, 1, 128, 64},
                                                             {12, 12, 1, 1024, 64},
                                                             {32, 8, 1, 512, 128},
                                                             {32, 8, 1, 4096, 128}}) {
    const std::array<int64_t, 5> sizes = {heads, kv_heads, queries, keys, size};
    bench(fmt::format("attention {}/{} heads {}x{}x{}", heads, kv_heads, queries, keys, size),
          [&](DType dtype) -> Made {
            const auto& [h, kv, q, k, d] = sizes;
            const int64_t rows = q * h * d, columns = k * kv * d;
            return {generate_attention(flat_attention(h, kv, q, k, d, dtype), profile),
                    {rows, rows, columns, columns}};
          });
  }
}

RecurrentSpec lstm(int64_t steps, int64_t batch, int64_t hidden, DType dtype) {
  RecurrentSpec s;
  s.cell.kind = CellKind::kLstm;
  s.cell.hidden = hidden;
  s.cell.activations = {
      {{ActivationKind::kSigmoid}, {ActivationKind::kTanh}, {ActivationKind::kTanh}}};
  s.steps = steps, s.batch = batch;
  s.has_y = true;
  s.dtype = dtype;
  return s;
}

// The products are f32: bytes for them are enough elements of any dtype.
void bench_cells(const DeviceProfile& profile) {
  for (const auto& [steps, batch, hidden] : {std::tuple{50, 1, 64},
                                             {50, 1, 128},
                                             {50, 1, 256},
                                             {50, 1, 512},
                                             {20, 8, 512},
                                             {10, 32, 256}}) {
    const std::array<int64_t, 3> sizes = {steps, batch, hidden};
    bench(fmt::format("LSTM of {} steps {}x{}", steps, batch, hidden), [&](DType dtype) -> Made {
      const auto& [t, b, h] = sizes;
      const RecurrentSpec s = lstm(t, b, h, dtype);
      const auto plan = choose_recurrent_plan(s, profile);
      const int64_t rows = t * b * h, panel = plan ? plan->panels * plan->nr : 0;
      return {generate_recurrent(s, profile), {rows, 2 * 4 * rows, 4 * h * panel}};
    });
  }
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  const auto profile = sluice::get_profile(argc > 1 ? argv[1] : "native");
  if (!profile) return std::fprintf(stderr, "%s\n", sluice::error_text(profile.error()).c_str()), 1;
  sluice::bench_products(*profile);
  sluice::bench_convolutions(*profile);
  sluice::bench_attention(*profile);
  sluice::bench_cells(*profile);
  return 0;
}
