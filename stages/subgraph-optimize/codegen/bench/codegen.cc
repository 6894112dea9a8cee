// Prints the speed of generated kernels as a share of the machine's multiply-add peak: the
// convolutions of ResNet-50, the products of BERT-base, and random shapes, on one thread.
//
// `symbolic` compares kernels of symbolic sizes, run at several sizes, with kernels made for each.
//
// `attention` compares dense operands with operands that are read through a transposition.
//
//   codegen_bench [profile] [resnet|mobilenet|network|bert|attention|symbolic|sweep|all]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/testing/kernel_timing.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Measured {
  double gflops = 0;
  double milliseconds = 0;
};

constexpr double kSeconds = 0.06;  // per kernel

double peak = 0;  // GFLOP/s

Measured report(const std::string& name, const Result<GeneratedKernel>& kernel,
                double compile_seconds, const ContractionPlan& plan,
                const std::vector<void*>& pointers) {
  if (!kernel) {
    std::printf("%-40s %s\n", name.c_str(), error_text(kernel.error()).c_str());
    return {};
  }
  auto runnable = RunnableKernel::load(*kernel);
  const double seconds = best_time(*runnable, pointers, kSeconds);
  const Measured result{2e-9 * static_cast<double>(kernel->multiply_adds.nominal) / seconds,
                        seconds * 1e3};
  std::printf(
      "%-40s %8.3f ms %7.1f GF/s %5.1f %%  tile %2dx%dx%-2d group %lld blocks %u (%lldx%lldx%lld)  "
      "%zu B, compiled in %.0f ms\n",
      name.c_str(), result.milliseconds, result.gflops, 100 * result.gflops / peak, plan.rows,
      plan.vectors, plan.lanes, static_cast<long long>(plan.panel_group), plan.blocks,
      static_cast<long long>(plan.batch_blocks), static_cast<long long>(plan.panel_blocks),
      static_cast<long long>(plan.row_blocks), kernel->object.size(), compile_seconds * 1e3);
  return result;
}

Measured bench_conv(const std::string& name, const ConvSpec& s, const DeviceProfile& profile) {
  const ContractionPlan plan = choose_conv_plan(s, profile);
  const auto start = Clock::now();
  const auto kernel = generate_conv(s, profile);
  const double compile = seconds_since(start);
  FloatBuffer x(s.n.nominal * s.h.nominal * s.w.nominal * s.ci),
      y(s.n.nominal * s.oh.nominal * s.ow.nominal * s.co), bias(s.co),
      residual(s.n.nominal * s.oh.nominal * s.ow.nominal * s.co);
  FloatBuffer weights(packed_elements(conv_weight_packing(s, plan.nr)));
  return report(name, kernel, compile, plan,
                {y.data(), x.data(), weights.data(), bias.data(), residual.data()});
}

ConvSpec square_conv(int64_t ci, int64_t co, int64_t k, int64_t stride, int64_t out) {
  ConvSpec s;
  s.ci = ci, s.co = co, s.kh = s.kw = k, s.stride_h = s.stride_w = stride;
  s.pad_top = s.pad_left = k / 2;
  s.oh = s.ow = out, s.h = s.w = out * stride;
  EpilogueBuilder e;
  s.epilogue = e.finish(e.relu(e.add(e.accumulator(), e.load(EpilogueOperand::column()))));
  return s;
}

struct Layer {
  int64_t ci, co, k, stride, out;
  int count;
};
constexpr Layer kResNet50[] = {
    {3, 64, 7, 2, 112, 1},    {64, 64, 1, 1, 56, 1},    {64, 64, 3, 1, 56, 3},
    {64, 256, 1, 1, 56, 4},   {256, 64, 1, 1, 56, 2},   {256, 128, 1, 1, 56, 1},
    {128, 128, 3, 2, 28, 1},  {128, 512, 1, 1, 28, 4},  {256, 512, 1, 2, 28, 1},
    {512, 128, 1, 1, 28, 3},  {128, 128, 3, 1, 28, 3},  {512, 256, 1, 1, 28, 1},
    {256, 256, 3, 2, 14, 1},  {256, 1024, 1, 1, 14, 6}, {512, 1024, 1, 2, 14, 1},
    {1024, 256, 1, 1, 14, 5}, {256, 256, 3, 1, 14, 5},  {1024, 512, 1, 1, 14, 1},
    {512, 512, 3, 2, 7, 1},   {512, 2048, 1, 1, 7, 3},  {1024, 2048, 1, 2, 7, 1},
    {2048, 512, 1, 1, 7, 2},  {512, 512, 3, 1, 7, 2}};

void bench_layers(const std::string& network, std::span<const Layer> layers,
                  const DeviceProfile& profile) {
  double work = 0, time = 0;
  for (const Layer& l : layers) {
    const ConvSpec s = square_conv(l.ci, l.co, l.k, l.stride, l.out);
    const Measured m = bench_conv(
        fmt::format("conv {}->{} k{} s{} @{} x{}", l.ci, l.co, l.k, l.stride, l.out, l.count), s,
        profile);
    work += m.gflops * m.milliseconds * l.count;
    time += m.milliseconds * l.count;
  }
  std::printf("%s convolutions: %.2f ms, %.1f GF/s, %.1f %% of peak\n", network.c_str(), time,
              work / time, 100 * work / time / peak);
}

// The table has the 1x1 layers; the depthwise ones have a kernel of their own.
constexpr Layer kMobileNet[] = {
    {3, 32, 3, 2, 112, 1},  {32, 16, 1, 1, 112, 1}, {16, 96, 1, 1, 112, 1},
    {96, 24, 1, 1, 56, 1},  {24, 144, 1, 1, 56, 2}, {144, 24, 1, 1, 56, 1},
    {144, 32, 1, 1, 28, 1}, {32, 192, 1, 1, 28, 3}, {192, 32, 1, 1, 28, 2},
    {192, 64, 1, 1, 14, 1}, {64, 384, 1, 1, 14, 4}, {384, 64, 1, 1, 14, 3},
    {384, 96, 1, 1, 14, 1}, {96, 576, 1, 1, 14, 3}, {576, 96, 1, 1, 14, 2},
    {576, 160, 1, 1, 7, 1}, {160, 960, 1, 1, 7, 3}, {960, 160, 1, 1, 7, 2},
    {960, 320, 1, 1, 7, 1}, {320, 1280, 1, 1, 7, 1}};

// Runs all layers one after the other, each with its own weights and activations, so that caches
// contain only what a whole network leaves there.
void bench_network(const DeviceProfile& profile) {
  struct Step {
    RunnableKernel kernel;
    std::vector<void*> pointers;
    double best = 1e9;
    double flops = 0;
    const Layer* layer;
  };
  std::vector<Step> steps;
  std::vector<std::unique_ptr<FloatBuffer>> buffers;
  const auto buffer = [&](int64_t count) {
    return buffers.emplace_back(std::make_unique<FloatBuffer>(count))->data();
  };
  for (const Layer& l : kResNet50) {
    const ConvSpec s = square_conv(l.ci, l.co, l.k, l.stride, l.out);
    const auto kernel = generate_conv(s, profile);
    for (int i = 0; i < l.count; ++i) {
      auto runnable = RunnableKernel::load(*kernel);
      const int64_t weights =
          packed_elements(conv_weight_packing(s, choose_conv_plan(s, profile).nr));
      steps.push_back(
          {*std::move(runnable),
           {buffer(s.n.nominal * s.oh.nominal * s.ow.nominal * s.co),
            buffer(s.n.nominal * s.h.nominal * s.w.nominal * s.ci), buffer(weights), buffer(s.co)},
           1e9,
           2e-9 * static_cast<double>(kernel->multiply_adds.nominal),
           &l});
    }
  }
  double best = 1e9;
  for (int run = 0; run < 30; ++run) {
    const double start = thread_seconds();
    for (Step& step : steps) {
      const double begin = thread_seconds();
      step.kernel.run(step.pointers);
      step.best = std::min(step.best, thread_seconds() - begin);
    }
    best = std::min(best, thread_seconds() - start);
  }
  double flops = 0, sum = 0;
  for (const Step& step : steps) {
    const Layer& l = *step.layer;
    flops += step.flops;
    sum += step.best;
    std::printf("conv %4ld->%-4ld k%ld s%ld @%-3ld %7.3f ms %5.1f %%\n", l.ci, l.co, l.k, l.stride,
                l.out, step.best * 1e3, 100 * step.flops / step.best / peak);
  }
  std::printf("ResNet-50 convolutions in order: %.2f ms (sum of best %.2f), %.1f %% of peak\n",
              best * 1e3, sum * 1e3, 100 * flops / best / peak);
}

void bench_matmul(const std::string& name, MatMulSpec s, const DeviceProfile& profile) {
  const ContractionPlan plan = choose_matmul_plan(s, profile);
  const auto start = Clock::now();
  const auto kernel = generate_matmul(s, profile);
  const double compile = seconds_since(start);
  int64_t batch = 1;
  for (const BatchAxis& axis : s.batch) batch *= axis.size.nominal;
  FloatBuffer a(batch * s.m.nominal * s.k.nominal), b(batch * plan.panels * plan.nr * s.k.nominal),
      c(batch * s.m.nominal * s.n.nominal);
  report(name, kernel, compile, plan, {c.data(), a.data(), b.data()});
}

void bench_bert(const DeviceProfile& profile) {
  for (const auto& [m, k, n] :
       {std::tuple{128, 768, 768}, std::tuple{128, 768, 3072}, std::tuple{128, 3072, 768},
        std::tuple{1, 2048, 1000}, std::tuple{512, 1024, 1024}}) {
    MatMulSpec s;
    s.m = m, s.n = n, s.k = k, s.a_row_stride = k, s.c_row_stride = n, s.b_packed = true;
    bench_matmul(fmt::format("matmul {}x{}x{} packed", m, k, n), s, profile);
  }
  {
    MatMulSpec s;
    s.m = 128, s.n = 3072, s.k = 768, s.a_row_stride = 768, s.c_row_stride = 3072,
    s.b_packed = true;
    EpilogueBuilder e;
    const int half = e.mul(e.accumulator(), e.constant(0.5f));
    const int erf = e.scalar(loop::ScalarOp::kErf, e.mul(e.accumulator(), e.constant(0.70710678f)));
    s.epilogue = e.finish(e.mul(half, e.add(erf, e.constant(1))));
    bench_matmul("matmul 128x768x3072 packed, gelu", s, profile);
  }
  for (const bool transposed : {false, true}) {
    MatMulSpec s;
    s.m = 128, s.n = 128, s.k = 64, s.a_row_stride = 64, s.c_row_stride = 128;
    s.b_row_stride = transposed ? 1 : 128, s.b_column_stride = transposed ? 64 : 1;
    s.batch = {{12, 128 * 64, 64 * 128, 128 * 128}};
    bench_matmul(transposed ? "matmul 12x128x64x128 B transposed" : "matmul 12x128x64x128", s,
                 profile);
    s.n = 64, s.k = 128, s.a_row_stride = 128, s.c_row_stride = 64;
    s.b_row_stride = transposed ? 1 : 64, s.b_column_stride = transposed ? 128 : 1;
    s.batch = {{12, 128 * 128, 64 * 128, 128 * 64}};
    bench_matmul(transposed ? "matmul 12x128x128x64 B transposed" : "matmul 12x128x128x64", s,
                 profile);
  }
}

// Returns the best times of both kernels, run in turns.
std::pair<double, double> race(RunnableKernel& fixed, RunnableKernel& symbolic,
                               const std::vector<void*>& pointers,
                               const std::vector<void*>& symbolic_pointers,
                               const std::vector<int64_t>& symbols) {
  double best = 1e9, best_symbolic = 1e9;
  const auto start = Clock::now();
  for (int i = 0; i < 400 && (i < 5 || seconds_since(start) < 0.2); ++i) {
    const double begin = thread_seconds();
    fixed.run(pointers);
    const double middle = thread_seconds();
    symbolic.run(symbolic_pointers, symbols);
    best_symbolic = std::min(best_symbolic, thread_seconds() - middle);
    best = std::min(best, middle - begin);
  }
  return {best, best_symbolic};
}

void bench_symbolic_matmul(const std::string& name, const MatMulSpec& s,
                           const std::vector<std::vector<int64_t>>& runs,
                           const DeviceProfile& profile) {
  const auto start = Clock::now();
  const auto kernel = generate_matmul(s, profile);
  const ContractionPlan plan = choose_matmul_plan(s, profile);
  if (!kernel)
    return static_cast<void>(
        std::printf("%s %s\n", name.c_str(), error_text(kernel.error()).c_str()));
  std::printf("%s: tile %dx%dx%d, %zu B, compiled in %.0f ms\n", name.c_str(), plan.rows,
              plan.vectors, plan.lanes, kernel->object.size(), seconds_since(start) * 1e3);
  auto symbolic = RunnableKernel::load(*kernel);
  for (const std::vector<int64_t>& symbols : runs) {
    const MatMulSpec f = fixed_at(s, symbols);
    const auto fixed_kernel = generate_matmul(f, profile);
    auto fixed = RunnableKernel::load(*fixed_kernel);
    int64_t batch = 1;
    for (const BatchAxis& axis : f.batch) batch *= axis.size.nominal;
    const int64_t m = f.m.nominal, n = f.n.nominal, k = f.k.nominal;
    FloatBuffer a(batch * m * k), b(batch * k * (n + 256)), c(batch * m * n), bias(n);
    const std::vector<void*> pointers = {c.data(), a.data(), b.data(), bias.data()};
    const auto [best, best_symbolic] = race(*fixed, *symbolic, pointers, pointers, symbols);
    const auto gflops = [&](double seconds) {
      return 2e-9 * static_cast<double>(batch * m * n * k) / seconds;
    };
    std::printf("  %lldx%lldx%lldx%lld: fixed %7.1f GF/s, symbolic %7.1f GF/s, time x %.3f\n",
                static_cast<long long>(batch), static_cast<long long>(m), static_cast<long long>(k),
                static_cast<long long>(n), gflops(best), gflops(best_symbolic),
                best_symbolic / best);
  }
}

void bench_symbolic(const DeviceProfile& profile) {
  const Extent rows = Extent::of_symbol(0, 128), past = Extent::of_symbol(1, 128);
  const std::vector<std::vector<int64_t>> lengths = {{1, 1},   {5, 5},     {16, 16},
                                                     {48, 48}, {128, 128}, {384, 384}};
  for (const auto& [k, n] : {std::pair{768, 768}, {768, 3072}, {3072, 768}}) {
    MatMulSpec s;
    s.m = rows, s.n = n, s.k = k, s.a_row_stride = k, s.c_row_stride = n, s.b_packed = true;
    EpilogueBuilder e;
    s.epilogue = e.finish(e.add(e.accumulator(), e.load(EpilogueOperand::column())));
    bench_symbolic_matmul(fmt::format("matmul ?x{}x{} packed", k, n), s, lengths, profile);
  }
  std::vector<std::vector<int64_t>> attention = {{48, 48}, {128, 128}, {384, 384},
                                                 {1, 5},   {1, 128},   {1, 1000}};
  for (const bool transposed : {false, true}) {
    MatMulSpec s;
    s.m = rows, s.n = past, s.k = 64, s.a_row_stride = 64, s.c_row_stride = past;
    s.b_row_stride = transposed ? 1 : past, s.b_column_stride = transposed ? Extent(64) : Extent(1);
    s.batch = {{12, rows * 64, past * 64, rows * past}};
    bench_symbolic_matmul(transposed ? "scores 12x?x64x?, B transposed" : "scores 12x?x64x?", s,
                          attention, profile);
    s.n = 64, s.k = past, s.a_row_stride = past, s.c_row_stride = 64;
    s.b_row_stride = transposed ? 1 : 64, s.b_column_stride = transposed ? past : Extent(1);
    s.batch = {{12, rows * past, past * 64, rows * 64}};
    bench_symbolic_matmul(transposed ? "context 12x?x?x64, B transposed" : "context 12x?x?x64", s,
                          attention, profile);
  }
}

void bench_sweep(const DeviceProfile& profile) {
  std::mt19937 random(5);
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (int found = 0; found < 40;) {
    ConvSpec s;
    s.n = draw(1, 4), s.h = draw(1, 40), s.w = draw(1, 40),
    s.groups = draw(0, 3) == 0 ? draw(2, 4) : 1;
    s.ci = s.groups * draw(1, 70 / s.groups), s.co = s.groups * draw(1, 70 / s.groups),
    s.kh = draw(1, 7), s.kw = draw(1, 7);
    s.stride_h = draw(1, 3), s.stride_w = draw(1, 3), s.dilation_h = draw(1, 3),
    s.dilation_w = draw(1, 3);
    s.pad_top = draw(0, s.kh - 1), s.pad_left = draw(0, s.kw - 1);
    const int64_t high =
        s.h.nominal + s.pad_top + draw(0, s.kh - 1) - (s.kh - 1) * s.dilation_h - 1;
    const int64_t wide =
        s.w.nominal + s.pad_left + draw(0, s.kw - 1) - (s.kw - 1) * s.dilation_w - 1;
    if (high < 0 || wide < 0) continue;
    s.oh = high / s.stride_h + 1, s.ow = wide / s.stride_w + 1;
    if (2 * s.n.nominal * s.oh.nominal * s.ow.nominal * s.co * (s.ci / s.groups) * s.kh * s.kw <
        20000000)
      continue;
    ++found;
    bench_conv(fmt::format("n{} {}x{} {}->{} k{}x{} s{}{} d{}{} g{} o{}x{}", s.n.nominal,
                           s.h.nominal, s.w.nominal, s.ci, s.co, s.kh, s.kw, s.stride_h, s.stride_w,
                           s.dilation_h, s.dilation_w, s.groups, s.oh.nominal, s.ow.nominal),
               s, profile);
  }
  for (int found = 0; found < 20;) {
    MatMulSpec s;
    s.m = draw(1, 200), s.n = draw(1, 200), s.k = draw(1, 200);
    const int64_t batch = draw(1, 8);
    if (2 * s.m.nominal * s.n.nominal * s.k.nominal * batch < 20000000) continue;
    ++found;
    s.a_row_stride = s.k.nominal, s.b_row_stride = s.n.nominal, s.c_row_stride = s.n.nominal;
    s.batch = {
        {batch, s.m.nominal * s.k.nominal, s.n.nominal * s.k.nominal, s.m.nominal * s.n.nominal}};
    bench_matmul(fmt::format("matmul {}x{}x{}x{}", batch, s.m.nominal, s.k.nominal, s.n.nominal), s,
                 profile);
  }
}

// The layout of 12 heads of 64: rows and columns of an operand as [heads, rows, 64], its transpose,
// or [rows, heads, 64].
struct Lie {
  int64_t row = 0, column = 0, head = 0;
};
Lie dense(int64_t rows, int64_t columns) { return {columns, 1, rows * columns}; }
Lie turned(int64_t rows, int64_t columns) { return {1, rows, rows * columns}; }
Lie merged() { return {768, 1, 64}; }
Lie merged_turned() { return {1, 768, 64}; }

struct Form {
  std::string name;
  MatMulSpec spec;
};

Form attention_form(const std::string& name, int64_t m, int64_t k, int64_t n, const Lie& a,
                    const Lie& b) {
  MatMulSpec s;
  s.m = m, s.k = k, s.n = n;
  s.a_row_stride = a.row, s.a_k_stride = a.column;
  s.b_row_stride = b.row, s.b_column_stride = b.column;
  s.c_row_stride = n;
  s.batch = {{12, a.head, b.head, m * n}};
  return {fmt::format("{} {}x{}x{}", name, m, k, n), s};
}

// Runs the forms interleaved, since the machine's speed changes from moment to moment.
void bench_forms(const std::vector<Form>& forms, const DeviceProfile& profile) {
  std::vector<RunnableKernel> kernels;
  for (const Form& form : forms)
    kernels.push_back(*RunnableKernel::load(*generate_matmul(form.spec, profile)));
  FloatBuffer a(12 * 512 * 512), b(12 * 512 * 512), c(12 * 512 * 512);
  std::vector<double> best(forms.size(), 1e9);
  for (int round = 0; round < 12; ++round) {
    for (size_t i = 0; i < forms.size(); ++i)
      best[i] = std::min(best[i], best_time(kernels[i], {c.data(), a.data(), b.data()}, kSeconds));
  }
  for (size_t i = 0; i < forms.size(); ++i)
    std::printf("%-44s %9.1f us\n", forms[i].name.c_str(), best[i] * 1e6);
}

void bench_attention(const DeviceProfile& profile) {
  for (const int64_t s : {128, 512}) {
    bench_forms(
        {attention_form("scores, dense", s, 64, s, dense(s, 64), dense(64, s)),
         attention_form("scores, keys turned", s, 64, s, dense(s, 64), turned(64, s)),
         attention_form("scores, keys merged", s, 64, s, dense(s, 64), merged_turned()),
         attention_form("scores, queries merged", s, 64, s, merged(), dense(64, s)),
         attention_form("scores, both merged", s, 64, s, merged(), merged_turned()),
         attention_form("values, dense", s, s, 64, dense(s, s), dense(s, 64)),
         attention_form("values, merged", s, s, 64, dense(s, s), merged()),
         attention_form("values, weights turned", s, s, 64, turned(s, s), dense(s, 64)),
         attention_form("one row, scores, dense", 1, 64, s, dense(1, 64), dense(64, s)),
         attention_form("one row, scores, keys turned", 1, 64, s, dense(1, 64), turned(64, s)),
         attention_form("one row, scores, keys merged", 1, 64, s, dense(1, 64), merged_turned()),
         attention_form("one row, values, dense", 1, s, 64, dense(1, s), dense(s, 64)),
         attention_form("one row, values, merged", 1, s, 64, dense(1, s), merged())},
        profile);
  }
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  auto profile = sluice::get_profile(argc > 1 ? argv[1] : "native");
  if (!profile) {
    std::fprintf(stderr, "%s\n", sluice::error_text(profile.error()).c_str());
    return 3;
  }
  const std::string what = argc > 2 ? argv[2] : "all";
  sluice::peak = 1e-9 * sluice::measure_peak(*profile);
  std::printf("%s: multiply-add peak %.1f GF/s\n", profile->name.c_str(), sluice::peak);
  if (what == "all" || what == "resnet")
    sluice::bench_layers("ResNet-50", sluice::kResNet50, *profile);
  if (what == "all" || what == "mobilenet")
    sluice::bench_layers("MobileNet-v2", sluice::kMobileNet, *profile);
  if (what == "all" || what == "network") sluice::bench_network(*profile);
  if (what == "all" || what == "bert") sluice::bench_bert(*profile);
  if (what == "all" || what == "attention") sluice::bench_attention(*profile);
  if (what == "all" || what == "symbolic") sluice::bench_symbolic(*profile);
  if (what == "all" || what == "sweep") sluice::bench_sweep(*profile);
  return 0;
}
