// Prints the speed of every kind of convolution kernel that a shape allows, beside the kind that is chosen: the depthwise layers of
// MobileNet-v2, copies between layouts, and random shapes above 20 MFLOP, worst first. One thread.
//
//   conv_kinds_bench [profile] [mobilenet|layout|first|sweep] [count] [seed]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/codegen_testing.h"
#include "stages/subgraph-optimize/codegen/conv_kinds.h"

namespace sluice {
namespace {

// Time of this thread: others may use the machine too.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Buffer {
 public:
  explicit Buffer(int64_t count)
      : data_(static_cast<float*>(std::aligned_alloc(4096, (static_cast<size_t>(count) * 4 + 4096) / 4096 * 4096))) {
    for (int64_t i = 0; i < count; ++i) data_[i] = static_cast<float>((i * 7919) % 2001 - 1000) / 1e4f;
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() { std::free(data_); }
  float* data() { return data_; }

 private:
  float* data_;
};

// The shortest of runs during about 20 ms, in seconds; 0 when there is no kernel.
double best_time(const Result<GeneratedKernel>& kernel, const std::vector<void*>& pointers) {
  if (!kernel) return 0;
  auto runnable = RunnableKernel::load(*kernel);
  runnable->run(pointers);
  double best = 1e9;
  const double start = thread_seconds();
  for (int i = 0; i < 200 && (i < 4 || thread_seconds() - start < 0.02); ++i) {
    const double begin = thread_seconds();
    runnable->run(pointers);
    best = std::min(best, thread_seconds() - begin);
  }
  return best;
}

// Multiply-add peak, FLOP/s, from a kernel that stays in registers and the first cache.
double measure_peak(const DeviceProfile& profile) {
  MatMulSpec s;
  s.m = 24, s.n = profile.vector_bits / 32 * 2, s.k = 128;
  s.a_row_stride = s.k.nominal, s.c_row_stride = s.n.nominal, s.b_packed = true;
  s.batch = {{4000, 0, 0, 0}};
  const auto kernel = generate_matmul(s, profile);
  Buffer a(s.m.nominal * s.k.nominal), b(s.n.nominal * s.k.nominal), c(s.m.nominal * s.n.nominal);
  return 2.0 * static_cast<double>(kernel->multiply_adds.nominal) / best_time(kernel, {c.data(), a.data(), b.data()});
}

struct Times {
  std::string name;
  double flops = 0;
  double seconds[3] = {};  // by ConvKind; 0: not possible
  double guess[3] = {};    // estimated cycles
  ConvKind chosen = ConvKind::kChannelsLast;
  double copies = 0;
  // With dense neighbours.
  double total(ConvKind kind) const { return seconds[static_cast<int>(kind)] + (kind == ConvKind::kDirect ? 0 : copies); }
};

Times measure(const ConvSpec& s, const DeviceProfile& profile, bool channels_last) {
  Times t;
  t.name = fmt::format("n{} {}x{} {}->{} k{}x{} s{}{} d{}{} g{} o{}x{}", s.n.nominal, s.h.nominal, s.w.nominal, s.ci, s.co, s.kh, s.kw,
                       s.stride_h, s.stride_w, s.dilation_h, s.dilation_w, s.groups, s.oh.nominal, s.ow.nominal);
  t.flops = 2.0 * static_cast<double>(s.n.nominal * s.oh.nominal * s.ow.nominal * s.co * (s.ci / s.groups) * s.kh * s.kw);
  Buffer x(s.n.nominal * s.h.nominal * s.w.nominal * s.ci), y(s.n.nominal * s.oh.nominal * s.ow.nominal * s.co);
  const ContractionPlan plan = choose_conv_plan(s, profile);
  const DepthwisePlan depthwise = choose_depthwise_plan(s, profile);
  const DirectConvPlan direct = choose_direct_plan(s, profile);
  Buffer weights(packed_elements(conv_weight_packing(s, plan.nr)) + packed_elements(depthwise_weight_packing(s, depthwise.nr)) +
                 packed_elements(direct_weight_packing(s, direct.rows)));
  const std::vector<void*> pointers = {y.data(), x.data(), weights.data()};
  t.seconds[0] = best_time(generate_conv(s, profile), pointers);
  if (depthwise.possible) t.seconds[1] = best_time(generate_depthwise({s}, profile), pointers);
  if (direct.possible) t.seconds[2] = best_time(generate_direct_conv({s}, profile), pointers);
  t.guess[0] = plan.cycles, t.guess[1] = depthwise.cycles, t.guess[2] = direct.cycles;
  t.chosen = choose_conv_kind(s, profile, {channels_last, channels_last});
  if (!channels_last) {
    Buffer x2(s.n.nominal * s.h.nominal * s.w.nominal * s.ci), y2(s.n.nominal * s.oh.nominal * s.ow.nominal * s.co);
    t.copies = best_time(generate_layout_copy({s.n.nominal, s.ci, s.h.nominal * s.w.nominal, true}, profile), {x2.data(), x.data()}) +
               best_time(generate_layout_copy({s.n.nominal, s.co, s.oh.nominal * s.ow.nominal, false}, profile), {y2.data(), y.data()});
  }
  return t;
}

void print(const Times& t, double peak) {
  constexpr const char* kNames[] = {"channels-last", "depthwise", "direct"};
  std::printf("%-50s %6.1f MFLOP %5.1f %% of peak, %s;", t.name.c_str(), t.flops * 1e-6, 100 * t.flops / t.total(t.chosen) / peak,
              kNames[static_cast<int>(t.chosen)]);
  for (int kind = 0; kind < 3; ++kind) {
    if (t.seconds[kind] > 0)
      std::printf(" %s %.3f ms (%.1f %%, guess %.3f)", kNames[kind], t.seconds[kind] * 1e3, 100 * t.flops / t.seconds[kind] / peak,
                  t.guess[kind] / 3.6e6);
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
  constexpr int64_t kLayers[][3] = {{32, 1, 112}, {96, 2, 56},  {144, 1, 56}, {144, 2, 28}, {192, 1, 28},
                                    {192, 2, 14}, {384, 1, 14}, {576, 1, 14}, {576, 2, 7},  {960, 1, 7}};
  for (const auto& [channels, stride, out] : kLayers)
    print(measure(square(channels, channels, 3, stride, out, channels), profile, true), peak);
}

void bench_first(const DeviceProfile& profile, double peak) {
  print(measure(square(3, 64, 7, 2, 112, 1), profile, false), peak);
  print(measure(square(3, 32, 3, 2, 112, 1), profile, false), peak);
  print(measure(square(1, 32, 5, 1, 28, 1), profile, false), peak);
  print(measure(square(3, 64, 3, 1, 256, 1), profile, false), peak);
}

void bench_layout(const DeviceProfile& profile) {
  for (const auto& [channels, pixels] :
       {std::pair{3, 224 * 224}, {64, 112 * 112}, {64, 56 * 56}, {256, 56 * 56}, {512, 28 * 28}, {1024, 14 * 14}, {2048, 49}}) {
    for (const bool to : {true, false}) {
      Buffer a(int64_t{channels} * pixels), b(int64_t{channels} * pixels);
      const double seconds = best_time(generate_layout_copy({1, channels, pixels, to}, profile), {a.data(), b.data()});
      std::printf("%4d channels, %5d pixels, %s: %.3f ms, %.1f GB/s read and written\n", channels, pixels,
                  to ? "to channels last" : "to dense", seconds * 1e3, 8e-9 * channels * pixels / seconds);
    }
  }
}

void bench_sweep(const DeviceProfile& profile, double peak, int count, unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int64_t low, int64_t high) { return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1)); };
  std::vector<Times> all;
  while (static_cast<int>(all.size()) < count) {
    ConvSpec s;
    s.n = draw(1, 16), s.h = draw(1, 40), s.w = draw(1, 40), s.groups = draw(0, 3) != 0 ? draw(2, 70) : 1;
    s.ci = s.groups * draw(1, 70 / s.groups), s.co = s.groups * draw(1, 70 / s.groups), s.kh = draw(1, 7), s.kw = draw(1, 7);
    s.stride_h = draw(1, 3), s.stride_w = draw(1, 3), s.dilation_h = draw(1, 3), s.dilation_w = draw(1, 3);
    s.pad_top = draw(0, s.kh - 1), s.pad_left = draw(0, s.kw - 1);
    const int64_t high = s.h.nominal + s.pad_top + draw(0, s.kh - 1) - (s.kh - 1) * s.dilation_h - 1;
    const int64_t wide = s.w.nominal + s.pad_left + draw(0, s.kw - 1) - (s.kw - 1) * s.dilation_w - 1;
    if (high < 0 || wide < 0) continue;
    s.oh = high / s.stride_h + 1, s.ow = wide / s.stride_w + 1;
    if (2 * s.n.nominal * s.oh.nominal * s.ow.nominal * s.co * (s.ci / s.groups) * s.kh * s.kw < 20000000) continue;
    all.push_back(measure(s, profile, false));
  }
  const auto speed = [](const Times& t) { return t.flops / t.total(t.chosen); };
  std::sort(all.begin(), all.end(), [&](const Times& a, const Times& b) { return speed(a) < speed(b); });
  double lost = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i < 15) print(all[i], peak);
    double least = all[i].total(ConvKind::kChannelsLast);
    if (all[i].seconds[1] > 0) least = std::min(least, all[i].total(ConvKind::kDepthwise));
    if (all[i].seconds[2] > 0) least = std::min(least, all[i].total(ConvKind::kDirect));
    lost += all[i].total(all[i].chosen) / least - 1;
    if (all[i].total(all[i].chosen) > 1.5 * least) {
      std::printf("badly chosen: ");
      print(all[i], peak);
    }
  }
  std::printf("median %.1f %% of peak; the choice costs %.1f %% on average\n", 100 * speed(all[all.size() / 2]) / peak,
              100 * lost / static_cast<double>(all.size()));
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
  if (what == "layout") sluice::bench_layout(*profile);
  if (what == "sweep")
    sluice::bench_sweep(*profile, peak, argc > 3 ? std::atoi(argv[3]) : 60, argc > 4 ? static_cast<unsigned>(std::atoi(argv[4])) : 1);
  return 0;
}
