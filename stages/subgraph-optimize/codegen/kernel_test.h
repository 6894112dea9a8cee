// The base of the generator's tests: a device profile by its name, skipped where this CPU cannot
// run it, and random numbers.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
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
    if (!cpu_supports(profile_.isa)) GTEST_SKIP() << "this CPU cannot run " << profile_.isa;
  }

  // Returns a number from low to high, both included.
  int64_t draw(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }

  DeviceProfile profile_;
  std::mt19937 random_;
};

}  // namespace sluice
