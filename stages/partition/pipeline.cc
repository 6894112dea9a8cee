#include "common/target/resolve_profile.h"
#include "stages/partition/partition.h"
#include "stages/partition/passes/passes.h"

namespace sluice {
namespace {

constexpr Pass kPasses[] = {
    // Must run first: stages of a pipeline become parts, so that no subgraph crosses from one to
    // the next.
    {"split-stage-levels", "makes a part of each user-marked pipeline stage", split_stage_levels,
     PassLevel::kO0},
    // Must run before place-engines, which respects the assignments made here, and before
    // split-shapes: shape arithmetic on host_cpu may be unknown.
    {"place-shapes-on-host",
     "puts small shape arithmetic of models without fixed shapes on host_cpu", place_shapes_on_host,
     PassLevel::kO0},
    // Must run before place-engines: whether an engine supports a node depends on whether its part
    // is lowered to a task list. Must run before the cuts, so that no subgraph crosses from one
    // part to the next.
    {"split-shapes", "makes parts of what has known shapes and of what has not", split_shapes,
     PassLevel::kO0},
    {"place-engines", "gives each node the cheapest engine that supports it", place_engines,
     PassLevel::kO0},
    // Must run after place-engines, which may choose another engine than formats were chosen for,
    // and
    // before the cuts, which give storages to operands and results of Calls.
    {"drop-formats", "makes values dense that an engine without formats, or another part, reads",
     drop_formats, PassLevel::kO0},
    {"cut-composites", "cuts subgraphs for composite engines", cut_composites, PassLevel::kO0},
    // Must run after cut-composites: nodes in no composite subgraph are cut by single engines.
    {"cut-subgraphs", "cuts subgraphs of one engine each", cut_subgraphs, PassLevel::kO0},
};

}  // namespace

std::span<const Pass> partition_passes() { return kPasses; }

Result<Module> partition(Module module, Options options, std::vector<PassReport>& report) {
  SLUICE_TRY(resolve_profile(options, module));
  SLUICE_ASSIGN(const std::vector<PassReport> passes, run_passes(module, kPasses, options));
  report.insert(report.end(), passes.begin(), passes.end());
  return module;
}

}  // namespace sluice
