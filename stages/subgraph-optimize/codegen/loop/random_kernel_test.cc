// Kernels that are generated from random loops, beside the interpreter, for each width of
// vectors: of 120 seeds, or of 5,000 with SLUICE_ALL_KERNELS=SEED in the environment, the first.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "common/base/half.h"
#include "common/loop/interpreter.h"
#include "common/loop/scalar_value.h"
#include "common/loop/testing/random_loops.h"
#include "common/loop/text.h"
#include "stages/subgraph-optimize/codegen/testing/loop_kernels.h"

namespace sluice {
namespace {

using loop::Buffer;
using loop::RandomLoops;

struct Seeds {
  uint32_t first = 0;
  uint32_t count = 120;
};

Seeds chosen_seeds() {
  const char* all = std::getenv("SLUICE_ALL_KERNELS");
  return all == nullptr ? Seeds{} : Seeds{static_cast<uint32_t>(std::atoll(all)), 5000};
}

// The operands of a run in memory as the loader aligns it, with a margin that nothing may write to.
class Memories {
 public:
  explicit Memories(const RandomLoops& loops) {
    for (const auto& operand : loops.operands) {
      sizes_.push_back(operand.size());
      const size_t bytes = (operand.size() + 2 * kMargin - 1) / kMargin * kMargin;
      auto* memory = static_cast<std::byte*>(std::aligned_alloc(kMargin, bytes));
      std::memcpy(memory, operand.data(), operand.size());
      std::memset(memory + operand.size(), 0x5a, bytes - operand.size());
      ends_.push_back(bytes);
      pointers_.push_back(memory);
    }
  }
  Memories(const Memories&) = delete;
  Memories& operator=(const Memories&) = delete;
  ~Memories() {
    for (std::byte* pointer : pointers_) std::free(pointer);
  }

  std::span<std::byte* const> pointers() const { return pointers_; }
  std::span<const std::byte> bytes(size_t i) const { return {pointers_[i], sizes_[i]}; }
  bool margin_is_kept(size_t i) const {
    return std::all_of(pointers_[i] + sizes_[i], pointers_[i] + ends_[i],
                       [](std::byte byte) { return byte == std::byte{0x5a}; });
  }

 private:
  static constexpr size_t kMargin = 64;
  std::vector<std::byte*> pointers_;
  std::vector<size_t> sizes_, ends_;
};

double number_at(DType dtype, const std::byte* element) {
  const uint64_t bits = loop::load_value(dtype, element);
  if (loop::register_dtype(dtype) == DType::kF64) return std::bit_cast<double>(bits);
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

// Numbers of which one is the other but for rounding. A zero has no sign here.
bool agree(double found, double wanted, double tolerance) {
  if (std::isnan(wanted) || std::isnan(found)) return std::isnan(wanted) && std::isnan(found);
  if (std::isinf(wanted) || std::isinf(found)) return wanted == found;
  return std::abs(found - wanted) <= tolerance;
}

// The error that storing adds to one before it.
double stored_tolerance(DType dtype, double tolerance, double wanted) {
  if (tolerance == 0) return 0;
  const double epsilon = dtype == DType::kF16 ? 0x1p-10 : dtype == DType::kBF16 ? 0x1p-7 : 0;
  return tolerance + epsilon * std::abs(wanted);
}

std::string difference(const RandomLoops& loops, const Memories& found, const Memories& wanted) {
  for (size_t i = 0; i < loops.operands.size(); ++i) {
    const Buffer& buffer = loops.graph.buffers[i];
    if (!found.margin_is_kept(i)) return fmt::format("operand {}: written past its end", i);
    const auto a = found.bytes(i), b = wanted.bytes(i);
    const size_t width = static_cast<size_t>(dtype_bits(buffer.dtype)) / 8;
    for (size_t at = 0; at < a.size(); at += width) {
      if (std::memcmp(a.data() + at, b.data() + at, width) == 0) continue;
      if (!dtype_is_float(buffer.dtype))
        return fmt::format("operand {}, element {}: {}, expected {}", i, at / width,
                           loop::load_value(buffer.dtype, a.data() + at),
                           loop::load_value(buffer.dtype, b.data() + at));
      const double x = number_at(buffer.dtype, a.data() + at),
                   y = number_at(buffer.dtype, b.data() + at);
      const double tolerance = stored_tolerance(buffer.dtype, loops.tolerance[i], y);
      if (!agree(x, y, tolerance))
        return fmt::format("operand {}, element {}: {}, expected {} within {}", i, at / width, x, y,
                           tolerance);
    }
  }
  return {};
}

class RandomKernelTest : public LoopProfileTest {
 protected:
  // Runs the graphs of the chosen seeds.
  void try_all(const std::function<RandomLoops(uint32_t)>& make) {
    int failures = 0;
    const Seeds seeds = chosen_seeds();
    for (uint32_t seed = seeds.first; seed - seeds.first < seeds.count; ++seed) {
      const RandomLoops loops = make(seed);
      const Memories wanted(loops), found(loops);
      auto ran = loop::interpret(loops.graph, loops.sizes, wanted.pointers());
      ASSERT_TRUE(ran.ok()) << "seed " << seed << ": " << error_text(ran.error());
      ran = run_loop_kernel(loops.graph, loops.sizes, found.pointers(), profile());
      const std::string fault =
          ran.ok() ? difference(loops, found, wanted) : error_text(ran.error());
      if (fault.empty()) continue;
      ADD_FAILURE() << "seed " << seed << ": " << fault << "\n" << print_loops(loops.graph);
      if (++failures == kMaxFailures) return;
    }
  }

 private:
  static constexpr int kMaxFailures = 20;
};

TEST_P(RandomKernelTest, OfNumbers) {
  try_all([](uint32_t seed) { return loop::random_loops(seed); });
}

TEST_P(RandomKernelTest, OfSpecialValues) {
  try_all([](uint32_t seed) { return loop::random_special_loops(seed + 100000); });
}

INSTANTIATE_TEST_SUITE_P(Profiles, RandomKernelTest, testing::Values(0, 1, 2));

}  // namespace
}  // namespace sluice
