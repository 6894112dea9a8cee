#include "stages/subgraph-optimize/passes/passes.h"
#include "stages/subgraph-optimize/subgraph_optimize.h"

namespace sluice {
namespace {

constexpr Pass kPasses[] = {
    // Must run first: kernels are made for the storages of their operands.
    {"store-states-in-place", "gives states that grow memory for their bound, and appends to it",
     store_states_in_place, PassLevel::kO1},
    {"lower-subgraphs", "lowers each distinct subgraph for its engine, in parallel",
     lower_subgraphs, PassLevel::kO0},
};

}  // namespace

std::span<const Pass> subgraph_optimize_passes() { return kPasses; }

Result<Module> subgraph_optimize(Module module, const Options& options,
                                 std::vector<PassReport>& report) {
  SLUICE_ASSIGN(const std::vector<PassReport> passes, run_passes(module, kPasses, options));
  report.insert(report.end(), passes.begin(), passes.end());
  return module;
}

}  // namespace sluice
