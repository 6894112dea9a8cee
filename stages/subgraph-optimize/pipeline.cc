#include "stages/subgraph-optimize/passes/passes.h"
#include "stages/subgraph-optimize/subgraph_optimize.h"

namespace sluice {
namespace {

constexpr Pass kPasses[] = {
    // Must run first: kernels are made for the storages of their operands.
    {"store-states-in-place", "gives states that grow memory for their bound, and appends to it",
     store_states_in_place, PassLevel::kO1},
    // Must run before lower-subgraphs, which makes one kernel of each node.
    {"split-reductions", "makes two nodes of a reduction of few long rows, which threads share",
     split_reductions, PassLevel::kO0},
    // Must run after split-reductions, which would split the reductions that it makes once more;
    // before lower-subgraphs, as these.
    {"split-dynamic-quantize", "makes three nodes of a dynamic quantization of many elements",
     split_dynamic_quantize, PassLevel::kO0},
    // Must run before lower-subgraphs, which knows the two nodes and not the cell.
    {"split-recurrent-cells", "makes two nodes of a cell: products with its inputs, and the walk",
     split_recurrent_cells, PassLevel::kO0},
    // Must run before lower-subgraphs: what a node reads is an operand of its kernel.
    {"eliminate-unread-operands", "drops what contractions name and do not read",
     eliminate_unread_operands, PassLevel::kO0},
    // Must run last: the graph that it makes is of another level.
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
