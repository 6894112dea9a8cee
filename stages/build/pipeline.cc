#include "common/ir/fixed.h"
#include "common/passes_host/pass_rows.h"
#include "stages/build/build.h"
#include "stages/build/passes/passes.h"
#include "stages/build/streams/stream_options.h"

namespace sluice {
namespace {

constexpr Pass kPasses[] = {
    {"assign-logical-streams",
     "gives every subgraph a stream, by engine where the device has it so", assign_logical_streams,
     PassLevel::kO0},
    {"link-subgraphs", "puts the subgraphs in the place of their Calls", link_subgraphs,
     PassLevel::kO0},
    {"fold-linked-constants", "evaluates nodes over small constants that linking bound",
     fold_linked_constants, PassLevel::kO1},
    // Must run after constants are folded, conditions among them; before equal nodes are merged,
    // which those of the branch are then among.
    {"fold-conditions", "puts the chosen branch in the place of a decided If", fold_conditions,
     PassLevel::kO1},
    // Must run before copies are taken out: the same copy made in two subgraphs is one then.
    {"merge-equal-nodes", "merges equal nodes of different subgraphs", merge_equal_nodes,
     PassLevel::kO3},
    {"cancel-trans-data", "takes out copies into another storage and back", cancel_trans_data,
     PassLevel::kO3},
    // Must run after those, which may leave a copy into its own storage.
    {"remove-copies", "takes out tasks that copy a value into the same storage", remove_copies,
     PassLevel::kO3},
    // Must run after copies are taken out: its own are needed.
    {"resolve-conflicts", "copies values that two readers or writers want at different places",
     resolve_conflicts, PassLevel::kO0},
    // Must run after outputs have their memory: a value that is an output is no piece.
    {"mark-no-task", "takes the task from a Concat or Split whose pieces can lie in the whole",
     mark_no_task, PassLevel::kO0},
    {"balance-streams", "lets tasks run beside others where a model is done sooner",
     balance_streams, PassLevel::kO3},
    {"order-tasks", "puts tasks in the order in which fewest bytes are live", order_tasks,
     PassLevel::kO3},
    {"assign-streams", "gives every task a stream", assign_streams, PassLevel::kO0},
    {"insert-events", "makes tasks wait for those of other streams", insert_events, PassLevel::kO0},
    // Must run after events are inserted: waits and records are tasks of their stream.
    {"split-streams", "splits streams of more tasks than the device takes", split_streams,
     PassLevel::kO0},
    {"reuse-events", "lets records that come one after the other share an event", reuse_events,
     PassLevel::kO0},
    {"assign-buffers", "gives every value a place in a buffer", assign_buffers, PassLevel::kO0},
    // Must run after values have buffers; before these get their offsets, each class by itself.
    {"assign-memory-classes", "gives the buffers of the arena a class of the device's memory",
     assign_memory_classes, PassLevel::kO0},
    {"layout-weights", "gives constants their offsets", layout_weights, PassLevel::kO0},
    {"plan-memory", "gives the buffers of the arena their offsets", plan_memory, PassLevel::kO0},
};

}  // namespace

std::span<const Pass> build_passes() { return kPasses; }

Result<Module> schedule(Module module, const Options& options, std::vector<PassReport>& report) {
  SLUICE_TRY(check_stream_options(options));
  if (module.level == Level::kScheduled) {
    SLUICE_TRY(check_stream_limits(module.root(), options));
    return module;
  }
  SLUICE_TRY(check_sizes(module.root()));
  SLUICE_ASSIGN(const PassRows rows, PassRows::load(kPasses, StageId::kBuild, options));
  SLUICE_ASSIGN(const std::vector<PassReport> passes, run_passes(module, rows.passes(), options));
  report.insert(report.end(), passes.begin(), passes.end());
  return module;
}

}  // namespace sluice
