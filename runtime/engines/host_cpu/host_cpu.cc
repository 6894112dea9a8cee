// The host_cpu engine: nodes of fixed parts as launches of one block into planned memory, each by the reference evaluator's one function.
// A library of its own, so that a model without such nodes loads neither the evaluator nor the graph reader.
#include "common/eval/eval.h"
#include "common/graphfile/graphfile.h"
#include "runtime/executor/host_engine.h"

namespace sluice {
namespace {

struct HostGraph {
  Module module;
  std::vector<const Node*> nodes;  // of the root graph, by id
};

struct PreparedTask {
  std::shared_ptr<HostGraph> graph;
  const Node* node = nullptr;
  HostTask task;
};

Result<std::shared_ptr<void>> open_graph(std::span<const std::byte> bytes) {
  auto graph = std::make_shared<HostGraph>();
  SLUICE_ASSIGN(graph->module, read_graph(bytes, nullptr, "host graph"));
  graph->nodes.resize(graph->module.root().node_limit(), nullptr);
  for (const Node& node : graph->module.root().nodes()) graph->nodes[static_cast<size_t>(node.id())] = &node;
  return std::shared_ptr<void>(std::move(graph));
}

Result<std::shared_ptr<const void>> prepare(const std::shared_ptr<void>& opened, const HostTask& task) {
  auto graph = std::static_pointer_cast<HostGraph>(opened);
  const Node* node = task.node < graph->nodes.size() ? graph->nodes[task.node] : nullptr;
  if (node == nullptr) return make_error(ErrorCode::kBadCompiledModel, "node {} is not in the host graph", task.node);
  const size_t inputs = task.operands.size() - task.outputs;
  if (task.outputs != node->output_count() || inputs != node->input_count()) {
    return make_error(ErrorCode::kBadCompiledModel, "{}: it has {} outputs and {} inputs, its task {} and {}", node->label(),
                      node->output_count(), node->input_count(), task.outputs, inputs);
  }
  for (const HostOperand& operand : task.operands) {
    if (operand.present && operand.dtype == DType::kString) {
      return make_error(ErrorCode::kUnsupportedPart, "{}: strings have no planned memory", node->label());
    }
  }
  return std::shared_ptr<const void>(std::make_shared<PreparedTask>(PreparedTask{std::move(graph), node, task}));
}

Result<void> run(const void* state, void* const* addresses) {
  const auto& prepared = *static_cast<const PreparedTask*>(state);
  const std::vector<HostOperand>& operands = prepared.task.operands;
  std::vector<MutableTensorView> outputs;
  std::vector<TensorView> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    auto* data = static_cast<std::byte*>(addresses[i]);  // null where absent
    if (i < prepared.task.outputs) {
      outputs.push_back({operands[i].dtype, operands[i].dims, data});
    } else {
      inputs.push_back({operands[i].dtype, operands[i].dims, data});
    }
  }
  return evaluate_node_into(*prepared.node, inputs, outputs);
}

constexpr HostEngine kEngine{kHostEngineRelease, sizeof(HostEngine), open_graph, prepare, run};

}  // namespace
}  // namespace sluice

extern "C" __attribute__((visibility("default"))) const sluice::HostEngine* sluice_host_engine() { return &sluice::kEngine; }
