// Prints the speed of every kind of convolution kernel that a shape allows, beside the kind that is
// chosen: the depthwise layers of MobileNet-v2, copies between layouts, and random shapes above 20
// MFLOP, worst first, on one thread.
//
//   conv_kinds_bench [profile] [mobilenet|layout|first|symbolic|sweep] [count] [seed]
#include "stages/subgraph-optimize/codegen/conv/conv_kinds.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/testing/kernel_timing.h"

namespace sluice {
namespace {

// Returns seconds; 0 when there is no kernel.
double best_time(const Result<GeneratedKernel>& kernel, const std::vector<void*>& pointers) {
  if (!kernel) return 0;
  auto runnable = RunnableKernel::load(*kernel);
  return best_time(*runnable, pointers, 0.02);
}

struct Times {
  std::string name;
  double flops = 0;
  double seconds[3] = {};  // by ConvKind; 0: not possible
  double guess[3] = {};    // estimated cycles
  ConvKind chosen = ConvKind::kContraction;
  double copies = 0;
  // Returns the seconds with dense neighbours.
  double total(ConvKind kind) const {
    return seconds[static_cast<int>(kind)] + (kind == ConvKind::kDirect ? 0 : copies);
  }
};

Times measure(const ConvSpec& s, const DeviceProfile& profile, const StorageMap& neighbours) {
  Times t;
  t.name = fmt::format("n{} {}x{} {}->{} k{}x{} s{}{} d{}{} g{} o{}x{}", s.n.nominal, s.h.nominal,
                       s.w.nominal, s.ci, s.co, s.kh, s.kw, s.stride_h, s.stride_w, s.dilation_h,
                       s.dilation_w, s.groups, s.oh.nominal, s.ow.nominal);
  t.flops = 2.0 * static_cast<double>(s.n.nominal * s.oh.nominal * s.ow.nominal * s.co *
                                      (s.ci / s.groups) * s.kh * s.kw);
  FloatBuffer x(s.n.nominal * s.h.nominal * s.w.nominal * s.ci),
      y(s.n.nominal * s.oh.nominal * s.ow.nominal * s.co);
  const ContractionPlan plan = choose_conv_plan(s, profile);
  const DepthwisePlan depthwise = choose_depthwise_plan(s, profile);
  const DirectConvPlan direct = choose_direct_plan(s, profile);
  FloatBuffer weights(packed_elements(conv_weight_packing(s, plan.nr)) +
                      packed_elements(depthwise_weight_packing(s, depthwise.nr)) +
                      packed_elements(direct_weight_packing(s, direct.rows)));
  const std::vector<void*> pointers = {y.data(), x.data(), weights.data()};
  t.seconds[0] = best_time(generate_conv(s, profile), pointers);
  if (depthwise.possible) t.seconds[1] = best_time(generate_depthwise({s}, profile), pointers);
  if (direct.possible) t.seconds[2] = best_time(generate_direct_conv({s}, profile), pointers);
  t.guess[0] = plan.cycles, t.guess[1] = depthwise.cycles, t.guess[2] = direct.cycles;
  t.chosen = choose_conv_kind(s, profile, {neighbours, neighbours});
  if (neighbours == dense_map(4)) {
    FloatBuffer x2(s.n.nominal * s.h.nominal * s.w.nominal * s.ci),
        y2(s.n.nominal * s.oh.nominal * s.ow.nominal * s.co);
    const std::vector<int64_t> x_dims = {s.n.nominal, s.ci, s.h.nominal, s.w.nominal},
                               y_dims = {s.n.nominal, s.co, s.oh.nominal, s.ow.nominal};
    t.copies = best_time(generate_copy(DType::kF32, x_dims, dense_map(4), nhwc_map(4), profile),
                         {x2.data(), x.data()}) +
               best_time(generate_copy(DType::kF32, y_dims, nhwc_map(4), dense_map(4), profile),
                         {y2.data(), y.data()});
  }
  return t;
}

void print(const Times& t, double peak) {
  constexpr const char* kNames[] = {"contraction", "depthwise", "direct"};
  std::printf("%-50s %6.1f MFLOP %5.1f %% of peak, %s;", t.name.c_str(), t.flops * 1e-6,
              100 * t.flops / t.total(t.chosen) / peak, kNames[static_cast<int>(t.chosen)]);
  for (int kind = 0; kind < 3; ++kind) {
    if (t.seconds[kind] > 0)
      std::printf(" %s %.3f ms (%.1f %%, guess %.3f)", kNames[kind], t.seconds[kind] * 1e3,
                  100 * t.flops / t.seconds[kind] / peak, t.guess[kind] / 3.6e6);
  }
  std::printf(" copies %.3f ms\n", t.copies * 1e3);
}

ConvSpec square(int64_t ci, int64_t co, int64_t k, int64_t stride, int64_t out, int64_t groups) {
  ConvSpec s;
  s.ci = ci, s.co = co, s.kh = s.kw = k, s.stride_h = s.stride_w = stride, s.groups = groups;
  s.pad_top = s.pad_left = k / 2;
  s.oh = s.ow = out, s.h = s.w = out * stride;
  return s;
}

void bench_mobilenet(const DeviceProfile& profile, double peak) {
  constexpr int64_t kLayers[][3] = {{32, 1, 112}, {96, 2, 56},  {144, 1, 56}, {144, 2, 28},
                                    {192, 1, 28}, {192, 2, 14}, {384, 1, 14}, {576, 1, 14},
                                    {576, 2, 7},  {960, 1, 7}};
  for (const auto& [channels, stride, out] : kLayers)
    print(measure(square(channels, channels, 3, stride, out, channels), profile, nhwc_map(4)),
          peak);
}

void bench_first(const DeviceProfile& profile, double peak) {
  print(measure(square(3, 64, 7, 2, 112, 1), profile, dense_map(4)), peak);
  print(measure(square(3, 32, 3, 2, 112, 1), profile, dense_map(4)), peak);
  print(measure(square(1, 32, 5, 1, 28, 1), profile, dense_map(4)), peak);
  print(measure(square(3, 64, 3, 1, 256, 1), profile, dense_map(4)), peak);
}

void bench_layout(const DeviceProfile& profile) {
  for (const auto& [channels, pixels] : {std::pair{3, 224 * 224},
                                         {64, 112 * 112},
                                         {64, 56 * 56},
                                         {256, 56 * 56},
                                         {512, 28 * 28},
                                         {1024, 14 * 14},
                                         {2048, 49}}) {
    for (const bool to_nhwc : {true, false}) {
      const StorageMap from = to_nhwc ? dense_map(4) : nhwc_map(4),
                       to = to_nhwc ? nhwc_map(4) : dense_map(4);
      for (const DType dtype : {DType::kF32, DType::kU8}) {
        FloatBuffer a(int64_t{channels} * pixels), b(int64_t{channels} * pixels);
        const double seconds =
            best_time(generate_copy(dtype, {1, channels, pixels, 1}, from, to, profile),
                      {a.data(), b.data()});
        std::printf("%4d channels, %5d pixels, %s %s: %.3f ms, %.1f GB/s read and written\n",
                    channels, pixels, std::string(dtype_name(dtype)).c_str(),
                    to_nhwc ? "to NHWC" : "to dense", seconds * 1e3,
                    1e-9 * dtype_bits(dtype) / 4 * channels * pixels / seconds);
      }
    }
  }
}

void bench_sweep(const DeviceProfile& profile, double peak, int count, unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  std::vector<Times> all;
  while (static_cast<int>(all.size()) < count) {
    ConvSpec s;
    s.n = draw(1, 16), s.h = draw(1, 40), s.w = draw(1, 40),
    s.groups = draw(0, 3) != 0 ? draw(2, 70) : 1;
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
    all.push_back(measure(s, profile, dense_map(4)));
  }
  const auto speed = [](const Times& t) { return t.flops / t.total(t.chosen); };
  std::sort(all.begin(), all.end(),
            [&](const Times& a, const Times& b) { return speed(a) < speed(b); });
  double lost = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i < 15) print(all[i], peak);
    double minimum = all[i].total(ConvKind::kContraction);
    if (all[i].seconds[1] > 0) minimum = std::min(minimum, all[i].total(ConvKind::kDepthwise));
    if (all[i].seconds[2] > 0) minimum = std::min(minimum, all[i].total(ConvKind::kDirect));
    lost += all[i].total(all[i].chosen) / minimum - 1;
    if (all[i].total(all[i].chosen) > 1.5 * minimum) {
      std::printf("badly chosen: ");
      print(all[i], peak);
    }
  }
  std::printf("median %.1f %% of peak; the choice costs %.1f %% on average\n",
              100 * speed(all[all.size() / 2]) / peak,
              100 * lost / static_cast<double>(all.size()));
}

using GenerateConv = std::function<Result<GeneratedKernel>(const ConvSpec&)>;

// Runs a kernel of symbolic image sizes at several sizes, in turns with kernels made for each.
void race(const std::string& name, const ConvSpec& symbolic,
          const std::vector<std::vector<int64_t>>& runs, const GenerateConv& generate,
          const StridedPacking& packing) {
  const auto start = std::chrono::steady_clock::now();
  const auto kernel = generate(symbolic);
  const double compiled =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!kernel)
    return static_cast<void>(
        std::printf("  %s: %s\n", name.c_str(), error_text(kernel.error()).c_str()));
  std::printf("  %s: %zu B, compiled in %.0f ms;", name.c_str(), kernel->object.size(),
              compiled * 1e3);
  auto free_sized = RunnableKernel::load(*kernel);
  for (const std::vector<int64_t>& symbols : runs) {
    const ConvSpec s = fixed_at(symbolic, symbols);
    auto fixed = RunnableKernel::load(*generate(s));
    FloatBuffer x(s.n.nominal * s.h.nominal * s.w.nominal * s.ci),
        y(s.n.nominal * s.oh.nominal * s.ow.nominal * s.co);
    FloatBuffer weights(packed_elements(packing) + 4096), bias(s.co);
    const std::vector<void*> pointers = {y.data(), x.data(), weights.data(), bias.data()};
    double best = 1e9, best_symbolic = 1e9;
    for (int i = 0; i < 60; ++i) {
      const double begin = thread_seconds();
      fixed->run(pointers);
      const double middle = thread_seconds();
      free_sized->run(pointers, symbols);
      best_symbolic = std::min(best_symbolic, thread_seconds() - middle);
      best = std::min(best, middle - begin);
    }
    std::printf(" @%lld %.3f ms x %.3f", static_cast<long long>(s.oh.nominal), best * 1e3,
                best_symbolic / best);
  }
  std::printf("\n");
}

// Measures layers of a small detector.
void bench_symbolic(const DeviceProfile& profile) {
  struct Layer {
    int64_t ci, co, k, stride, out, groups;
  };
  constexpr Layer kLayers[] = {{3, 16, 3, 2, 160, 1},   {16, 32, 3, 2, 80, 1},
                               {32, 32, 3, 1, 80, 1},   {64, 64, 3, 1, 40, 1},
                               {64, 32, 1, 1, 80, 1},   {128, 64, 1, 1, 40, 1},
                               {128, 128, 3, 1, 20, 1}, {256, 255, 1, 1, 20, 1},
                               {96, 96, 3, 1, 40, 96},  {144, 144, 3, 2, 20, 144}};
  for (const Layer& l : kLayers) {
    ConvSpec s;
    s.ci = l.ci, s.co = l.co, s.kh = s.kw = l.k, s.stride_h = s.stride_w = l.stride,
    s.groups = l.groups;
    s.pad_top = s.pad_left = l.k / 2;
    s.h = Extent::of_symbol(0, l.out * l.stride), s.w = Extent::of_symbol(1, l.out * l.stride);
    s.oh = Extent::of_symbol(2, l.out), s.ow = Extent::of_symbol(3, l.out);
    std::vector<std::vector<int64_t>> runs;
    for (const int64_t out : {l.out, l.out / 2 + 1, l.out * 3 / 2 - 1})
      runs.push_back({out * l.stride, out * l.stride, out, out});
    const auto with_bias = [](ConvSpec conv, const EpilogueOperand& bias) {
      EpilogueBuilder e;
      conv.epilogue = e.finish(e.relu(e.add(e.accumulator(), e.load(bias))));
      return conv;
    };
    std::printf("%ld->%ld k%ld s%ld g%ld, chosen: %d\n", l.ci, l.co, l.k, l.stride, l.groups,
                static_cast<int>(choose_conv_kind(s, profile, {})));
    const ConvSpec by_column = with_bias(s, EpilogueOperand::column()),
                   by_row = with_bias(s, EpilogueOperand::row());
    if (l.groups == 1) {
      race(
          "rows", by_column, runs, [&](const ConvSpec& c) { return generate_conv(c, profile); },
          conv_weight_packing(s, choose_conv_plan(s, profile).nr));
    } else {
      race(
          "depthwise", by_column, runs,
          [&](const ConvSpec& c) { return generate_depthwise({c}, profile); },
          depthwise_weight_packing(s, choose_depthwise_plan(s, profile).nr));
    }
    race(
        "direct", by_row, runs,
        [&](const ConvSpec& c) { return generate_direct_conv({c}, profile); },
        direct_weight_packing(s, std::max(choose_direct_plan(s, profile).rows, 1)));
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
  const std::string what = argc > 2 ? argv[2] : "sweep";
  const double peak = sluice::measure_peak(*profile);
  std::printf("%s: multiply-add peak %.1f GF/s\n", profile->name.c_str(), peak * 1e-9);
  if (what == "mobilenet") sluice::bench_mobilenet(*profile, peak);
  if (what == "first") sluice::bench_first(*profile, peak);
  if (what == "symbolic") sluice::bench_symbolic(*profile);
  if (what == "layout") sluice::bench_layout(*profile);
  if (what == "sweep")
    sluice::bench_sweep(*profile, peak, argc > 3 ? std::atoi(argv[3]) : 60,
                        argc > 4 ? static_cast<unsigned>(std::atoi(argv[4])) : 1);
  return 0;
}
