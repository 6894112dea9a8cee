#include "stages/build/parts.h"

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
  if (node.placement.engine != EngineId::kRts) return TaskKind::kHost;
  return node.op() == Op::kConcat ? TaskKind::kAppend : TaskKind::kCopy;
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

Result<void> check_places(const Graph& graph) {
  const auto missing = [&](const Value* value) -> std::string_view {
    if (value == nullptr) return {};
    const int32_t id = value->place().buffer;
    if (id < 0 || static_cast<size_t>(id) >= graph.buffers.size()) return "assign-buffers";
    const MemoryBuffer& buffer = graph.buffers[static_cast<size_t>(id)];
    if (buffer.offset.is_fixed()) return {};
    if (buffer.memory == MemoryClass::kWeights) return "layout-weights";
    const bool is_planned =
        buffer.memory != MemoryClass::kArena || graph.shapes != ShapeClass::kFixed;
    return is_planned ? "" : "plan-memory";
  };
  for (const Node* task : tasks_of(graph)) {
    std::string_view pass;
    for (size_t i = 0; i < task->input_count() && pass.empty(); ++i) pass = missing(task->input(i));
    for (size_t k = 0; k < task->output_count() && pass.empty(); ++k)
      pass = missing(&task->output(k));
    if (!pass.empty())
      return make_error(ErrorCode::kVerifyFailed, "{}: its operands have no place", task->label())
          .with_hint(fmt::format("the pass {} must run before", pass));
  }
  return {};
}

}  // namespace sluice
