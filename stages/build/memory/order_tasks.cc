// Puts the tasks of a part in the order in which fewest bytes are live at a time: the given one, or
// another (task_orders.h) where that needs at least 1/32 less.
//
//   before:  %a = Exp(%x)       %b = Sin(%x)       %c = ReduceSum(%a)   %d = ReduceSum(%b)
//   after:   %a = Exp(%x)       %c = ReduceSum(%a) %b = Sin(%x)         %d = ReduceSum(%b)
//
// Legal because every task still runs after those that it reads from and those that control edges
// put before it. Where nodes have stream labels, the tasks of each stream keep their order, and
// those of different streams are interleaved; with --stable-order=on all keep theirs.
//
// Must run after mark-no-task, which says what shares bytes, and before streams have their tasks.
#include <algorithm>

#include "common/ir/module.h"
#include "stages/build/memory/task_orders.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

bool order(Graph& graph) {
  const auto has_label = [](const Node& node) { return !node.placement.stream_label.empty(); };
  const bool has_streams = std::ranges::any_of(graph.nodes(), has_label);
  const TaskOrders orders(graph, has_streams);
  const TaskOrders::Best chosen = orders.best();
  if (has_streams) {
    graph.notes.push_back(
        fmt::format("in the order of tasks at most {} bytes are live, {} without streams",
                    chosen.peak, TaskOrders(graph).best().peak));
  }
  for (const uint32_t index : chosen.order) graph.move_before(orders.node(index), nullptr);
  return !chosen.order.empty();
}

}  // namespace

Result<bool> order_tasks(Graph& root, const Options& options) {
  if (options.flag("stable-order")) return false;
  bool changed = false;
  for (Graph* graph : scheduled_graphs(root)) changed = order(*graph) || changed;
  return changed;
}

}  // namespace sluice
