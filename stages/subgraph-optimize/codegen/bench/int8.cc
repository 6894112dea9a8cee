// Prints the speed of products of bytes on one thread: of packed weights (Int8ConvSpec), also
// narrow ones, and of two matrices that the kernel packs (Int8MatMulSpec).
//
//   int8_bench [profile]
#include "stages/subgraph-optimize/codegen/int8/int8.h"

#include <cstdio>
#include <cstring>

#include "fmt/format.h"
#include "stages/subgraph-optimize/codegen/testing/kernel_timing.h"

namespace sluice {
namespace {

constexpr double kSeconds = 0.3;  // per kernel

struct Product {
  int64_t m, k, n;
};
constexpr Product kProducts[] = {{128, 768, 768},  {128, 768, 3072}, {128, 3072, 768},
                                 {1024, 768, 768}, {1, 768, 768},    {1, 768, 3072},
                                 {4, 768, 768},    {16, 768, 768},   {128, 64, 128},
                                 {128, 128, 64},   {3136, 576, 64},  {49, 4608, 512}};

void print(const char* kind, const Product& p, const Result<GeneratedKernel>& kernel,
           const ContractionPlan& plan, const std::vector<void*>& pointers) {
  if (!kernel) return void(std::printf("%s\n", error_text(kernel.error()).c_str()));
  auto runnable = RunnableKernel::load(*kernel);
  const double seconds = best_time(*runnable, pointers, kSeconds);
  std::printf("%-16s %5ldx%4ldx%4ld %9.1f us %7.1f GMAC/s", kind, p.m, p.k, p.n, 1e6 * seconds,
              1e-9 * static_cast<double>(p.m * p.k * p.n) / seconds);
  if (plan.rows > 0)
    std::printf("  tile %dx%d group %ld blocks %ldx%ld", plan.rows, plan.vectors, plan.panel_group,
                plan.row_blocks, plan.panel_blocks);
  std::printf("\n");
}

void bench(const Product& p, const DeviceProfile& profile) {
  FloatBuffer x(p.m * p.k), w(p.k * (p.n + 64)), narrow(p.k * (p.n + 64)), y(p.m * p.n),
      columns(p.n + 64);
  std::memset(narrow.data(), 7, static_cast<size_t>(p.k * (p.n + 64)));
  std::vector<uint8_t> zeros(static_cast<size_t>(p.n), 3);
  for (const bool has_w_zero : {false, true}) {
    Int8ConvSpec packed;
    packed.conv.n = p.m, packed.conv.ci = p.k, packed.conv.co = p.n;
    packed.numbers.x_zero = 120;
    packed.numbers.has_w_zero = has_w_zero;
    for (const bool is_narrow : {false, true}) {
      const std::string kind =
          fmt::format("packed{}{}", has_w_zero ? "+z" : "", is_narrow ? ", narrow" : "");
      print(kind.c_str(), p, generate_int8_conv(packed, profile),
            choose_int8_plan(packed, profile).tiles,
            {y.data(), x.data(), is_narrow ? narrow.data() : w.data(), columns.data(),
             columns.data()});
    }
  }
  Int8MatMulSpec both;
  MatMulSpec& s = both.product;
  s.m = p.m, s.k = p.k, s.n = p.n;
  s.a_row_stride = p.k, s.b_row_stride = p.n, s.c_row_stride = p.n;
  both.numbers.x_zero = 120;
  both.numbers.has_w_zero = true;
  print("matrices", p, generate_int8_matmul(both, profile), {},
        {y.data(), x.data(), w.data(), zeros.data()});
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  auto profile = sluice::get_profile(argc > 1 ? argv[1] : "native");
  if (!profile) return std::printf("%s\n", sluice::error_text(profile.error()).c_str()), 1;
  std::printf("peak of f32 %.1f GMAC/s\n", sluice::measure_peak(*profile) / 2e9);
  for (const sluice::Product& p : sluice::kProducts) sluice::bench(p, *profile);
  return 0;
}
