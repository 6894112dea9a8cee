// Runs kernels that are generated from loops, for tests.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "common/base/result.h"
#include "common/loop/loop_graph.h"
#include "common/target/profile.h"

namespace sluice {

// Returns profiles of each width of vectors.
const std::vector<DeviceProfile>& loop_profiles();

// The base of tests that run for each of them, by index. Where this CPU cannot run the profile, a
// test counts as skipped: see run_loop_kernel.
class LoopProfileTest : public testing::TestWithParam<size_t> {
 protected:
  static const DeviceProfile& profile() { return loop_profiles()[GetParam()]; }
  void TearDown() override {
    if (!cpu_supports(profile().isa) && !HasFailure())
      GTEST_SKIP() << "this CPU cannot run " << profile().isa << ": kernels were only generated";
  }
};

// Generates the loops' kernel and runs it, as loop::interpret does; on copies of the operands, once
// with a page that nothing may touch directly before each, once directly behind it. Where this CPU
// cannot run the profile, each fourth kernel is generated and loaded, and loops are interpreted.
Result<void> run_loop_kernel(const loop::LoopGraph& graph, std::span<const int64_t> sizes,
                             std::span<std::byte* const> operands, const DeviceProfile& profile);

}  // namespace sluice
