#include "common/ir/fixed.h"
#include "stages/build/build.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

constexpr Pass kPasses[] = {
    {"link-subgraphs", "puts the subgraphs in the place of their Calls", link_subgraphs,
     PassLevel::kO0},
    {"insert-output-copies", "fills outputs that no task writes by copies", insert_output_copies,
     PassLevel::kO0},
    {"mark-no-task", "takes the task from a Concat or Split whose pieces can lie in the whole",
     mark_no_task, PassLevel::kO0},
    {"assign-streams", "gives every task a stream", assign_streams, PassLevel::kO0},
    {"insert-events", "makes tasks wait for those of other streams", insert_events, PassLevel::kO0},
    {"assign-buffers", "gives every value a place in a buffer", assign_buffers, PassLevel::kO0},
    {"layout-weights", "gives constants their offsets", layout_weights, PassLevel::kO0},
    {"plan-memory", "gives the buffers of the arena their offsets", plan_memory, PassLevel::kO0},
};

}  // namespace

std::span<const Pass> build_passes() { return kPasses; }

Result<Module> schedule(Module module, const Options& options, std::vector<PassReport>& report) {
  if (module.level == Level::kScheduled) return module;
  SLUICE_TRY(check_sizes(module.root()));
  SLUICE_ASSIGN(const std::vector<PassReport> passes, run_passes(module, kPasses, options));
  report.insert(report.end(), passes.begin(), passes.end());
  return module;
}

}  // namespace sluice
