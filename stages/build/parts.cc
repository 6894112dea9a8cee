#include "stages/build/parts.h"

#include "common/ir/append_axis.h"
#include "common/ir/module.h"
#include "common/ops/attributes.h"
#include "stages/build/walk.h"

namespace sluice {

std::vector<Graph*> scheduled_graphs(const Graph& root) {
  if (!is_walked(root)) return {&root.module().root()};
  std::vector<Graph*> graphs;
  for (const Node& node : root.nodes()) {
    if (node.op() == Op::kCall) graphs.push_back(node.get(attributes::Call::graph));
  }
  return graphs;
}

std::vector<Node*> tasks_of(const Graph& graph) {
  std::vector<Node*> tasks;
  for (Node& node : graph.nodes()) {
    if (!node.placement.no_task) tasks.push_back(&node);
  }
  return tasks;
}

TaskKind task_kind(const Node& node) {
  if (node.placement.kernel >= 0) return TaskKind::kLaunch;
  if (node.op() == Op::kMemCopy || node.op() == Op::kTransData) return TaskKind::kCopy;
  return node.op() == Op::kConcat && append_axis(node.output()) ? TaskKind::kAppend
                                                                : TaskKind::kHost;
}

Result<void> check_streams(const Graph& graph) {
  for (const Node* task : tasks_of(graph)) {
    const int32_t stream = task->placement.stream;
    if (stream >= 0 && static_cast<size_t>(stream) < graph.streams.size()) continue;
    return make_error(ErrorCode::kVerifyFailed, "{}: has no stream", task->label())
        .with_hint("the pass assign-streams must run before");
  }
  return {};
}

}  // namespace sluice
