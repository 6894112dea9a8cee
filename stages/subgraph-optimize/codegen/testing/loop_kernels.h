// Runs kernels that are generated from loops, for tests.
#pragma once

#include <span>
#include <vector>

#include "common/base/result.h"
#include "common/loop/loop_graph.h"
#include "common/target/profile.h"

namespace sluice {

// Returns profiles of each width of vectors.
const std::vector<DeviceProfile>& loop_profiles();

// Generates the loops' kernel and runs it, as loop::interpret does; on copies of the operands, once
// with a page that nothing may touch directly before each, once directly behind it. Where this CPU
// cannot run the profile, each fourth kernel is generated and loaded, and loops are interpreted.
Result<void> run_loop_kernel(const loop::LoopGraph& graph, std::span<const int64_t> sizes,
                             std::span<std::byte* const> operands, const DeviceProfile& profile);

}  // namespace sluice
