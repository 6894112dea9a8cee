// The base of the generator's tests: a device profile by its name, and random numbers. Where this
// CPU cannot run the profile, some kernels are generated and loaded; the test then counts as
// skipped.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "common/target/profile.h"

namespace sluice {

using Bytes = std::vector<uint8_t>;

// Elements beside a result that nothing may write, and what they and the result hold before.
inline constexpr size_t kGuardElements = 64;
inline constexpr float kUntouchedFloat = 12288;  // f16 and bf16 have it, too
inline constexpr uint8_t kUntouchedByte = 0xA5;

class KernelTest : public testing::TestWithParam<std::string> {
 protected:
  explicit KernelTest(uint32_t seed = 0) : random_(seed) {}

  void SetUp() override {
    auto profile = get_profile(GetParam());
    ASSERT_TRUE(profile.ok());
    profile_ = *profile;
    is_runnable_ = cpu_supports(profile_.isa);
    std::seed_seq name(GetParam().begin(), GetParam().end());
    choices_.seed(name);
    const bool is_best = profile_.isa == get_profile("native")->isa;
    each_ = !is_runnable_ ? 4 : is_best || std::getenv("SLUICE_ALL_KERNELS") != nullptr ? 1 : 2;
  }

  void TearDown() override {
    if (!is_runnable_ && !HasFailure())
      GTEST_SKIP() << "this CPU cannot run " << profile_.isa
                   << ": some kernels were only generated";
  }

  // Generating takes most of the time. Of the profile that suits this CPU all kernels are tested,
  // of others that it can run one in two, of those that it cannot run one in four, drawn by the
  // profile's name, and always the first. SLUICE_ALL_KERNELS in the environment: all that can run.
  bool is_left_out() { return kernels_++ > 0 && choices_() % each_ != 0; }

  // Returns a number from low to high, both included.
  int64_t draw(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }

  DeviceProfile profile_;
  bool is_runnable_ = false;  // by this CPU
  std::mt19937 random_;

 private:
  int kernels_ = 0;
  uint32_t each_ = 1;
  std::mt19937 choices_;
};

}  // namespace sluice
