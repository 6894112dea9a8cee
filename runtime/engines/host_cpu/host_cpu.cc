// The host_cpu engine: it runs nodes of fixed parts on planned memory, each by the reference
// evaluator's one function, and walks whole root graphs node by node. A launch has one block, but
// for forests, whose rows threads share. The engine is a library of its own, so that a model
// without such nodes loads neither the evaluator nor the graph reader.
#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

#include "common/eval/eval.h"
#include "common/eval/forest.h"
#include "common/graphfile/graphfile.h"
#include "common/omfile/om_format.h"
#include "common/ops/attributes.h"
#include "runtime/engines/host_cpu/walk.h"
#include "runtime/loader/host_engine.h"

namespace sluice {
namespace {

struct HostGraph {
  Module module;
  std::vector<const Node*> nodes;   // of the root graph, by id
  std::vector<uint32_t> positions;  // of its nodes, by id
  RequirementsOf requirements;
  // Forests whose tables are constants, by node: read once for all sizes that tasks are bound to.
  std::mutex forests_mutex;
  std::map<uint32_t, std::shared_ptr<const eval::AnyForest>> forests;
};

// Replaces constants in the file "/weights" by those of the weights segment.
Result<void> find_weights(Module& module, std::span<const std::byte> weights) {
  for (SegmentId id = 0; id < static_cast<SegmentId>(module.segment_count()); ++id) {
    Segment& segment = module.segment(id);
    if (segment.kind != SegmentKind::kBytes || segment.location.where != Where::kFile) continue;
    const uint64_t offset = segment.location.offset;
    if (segment.location.path != kWeightsPath || offset > weights.size() ||
        segment.size > weights.size() - offset) {
      return make_error(
          ErrorCode::kBadCompiledModel,
          "a constant of its graph lies in '{}' at {} + {}, outside the {} bytes of weights",
          segment.location.path, offset, segment.size, weights.size());
    }
    segment.location = {Where::kHere, nullptr, weights.subspan(offset, segment.size), {}, 0, 0};
  }
  return {};
}

struct PreparedTask {
  std::shared_ptr<HostGraph> graph;
  const Node* node = nullptr;
  HostTask task;
  std::shared_ptr<const eval::AnyForest> forest;  // null: the evaluator runs the node
  int64_t rows_of_block = 0;                      // of the forest
};

Result<std::shared_ptr<void>> open_graph(std::span<const std::byte> bytes,
                                         std::span<const std::byte> weights) {
  auto graph = std::make_shared<HostGraph>();
  SLUICE_ASSIGN(graph->module, read_graph(bytes, nullptr, "host graph"));
  SLUICE_TRY(find_weights(graph->module, weights));
  graph->nodes.resize(graph->module.root().node_limit(), nullptr);
  graph->positions.resize(graph->nodes.size(), 0);
  graph->requirements = requirements_of_symbols(graph->module);
  uint32_t position = 0;
  for (const Node& node : graph->module.root().nodes()) {
    graph->nodes[static_cast<size_t>(node.id())] = &node;
    graph->positions[static_cast<size_t>(node.id())] = position++;
  }
  return std::shared_ptr<void>(std::move(graph));
}

// Returns whether the forest of a TreeEnsemble can be read before the task runs.
bool has_constant_forest(const Node& node, const HostTask& task) {
  if (node.op() != Op::kTreeEnsemble || task.outputs != 1) return false;
  const HostOperand &y = task.operands[0], &x = task.operands[1];
  const bool is_read_as_it_is = x.dtype == DType::kF32 || x.dtype == DType::kF64;
  const int64_t targets = node.get(attributes::TreeEnsemble::n_targets);
  return is_read_as_it_is && y.present && y.dtype == x.dtype && x.dims.size() == 2 &&
         y.dims == std::vector<int64_t>{x.dims[0], targets} &&
         std::all_of(task.operands.begin() + 2, task.operands.end(), [](const HostOperand& table) {
           return !table.present || table.constant != nullptr;
         });
}

Result<std::shared_ptr<const eval::AnyForest>> forest_of(HostGraph& graph, const Node& node,
                                                         const HostTask& task) {
  const std::lock_guard lock(graph.forests_mutex);
  std::shared_ptr<const eval::AnyForest>& forest = graph.forests[task.node];
  if (forest != nullptr) return forest;
  std::vector<TensorView> inputs;
  for (size_t i = task.outputs; i < task.operands.size(); ++i) {
    const HostOperand& operand = task.operands[i];
    inputs.push_back({operand.dtype, operand.dims, operand.constant});
  }
  SLUICE_ASSIGN(eval::AnyForest read, eval::AnyForest::read(node, inputs));
  forest = std::make_shared<const eval::AnyForest>(std::move(read));
  return forest;
}

Result<HostCall> call_of(std::shared_ptr<HostGraph> graph, const Node& node, const HostTask& task) {
  auto prepared = std::make_shared<PreparedTask>(PreparedTask{graph, &node, task, nullptr, 0});
  if (!has_constant_forest(node, task)) return HostCall{std::move(prepared), 1};
  const std::vector<int64_t>& x = task.operands[1].dims;
  SLUICE_ASSIGN(const auto forest, forest_of(*graph, node, task));
  if (forest->features() > x[1]) return HostCall{std::move(prepared), 1};  // its run is an error
  prepared->forest = forest;
  prepared->rows_of_block = forest->rows_of_block(x[0]);
  const int64_t blocks = (x[0] + prepared->rows_of_block - 1) / prepared->rows_of_block;
  return HostCall{std::move(prepared), static_cast<uint32_t>(std::max<int64_t>(blocks, 1))};
}

Result<HostCall> prepare(const std::shared_ptr<void>& opened, const HostTask& task) {
  auto graph = std::static_pointer_cast<HostGraph>(opened);
  const Node* node = task.node < graph->nodes.size() ? graph->nodes[task.node] : nullptr;
  if (node == nullptr)
    return make_error(ErrorCode::kBadCompiledModel, "node {} is not in the host graph", task.node);
  const size_t inputs = task.operands.size() - task.outputs;
  if (task.outputs != node->output_count() || inputs != node->input_count()) {
    return make_error(ErrorCode::kBadCompiledModel,
                      "{}: it has {} outputs and {} inputs, its task {} and {}", node->label(),
                      node->output_count(), node->input_count(), task.outputs, inputs);
  }
  for (const HostOperand& operand : task.operands) {
    if (operand.present && operand.dtype == DType::kString) {
      return make_error(ErrorCode::kUnsupportedPart, "{}: strings have no planned memory",
                        node->label());
    }
  }
  return call_of(std::move(graph), *node, task);
}

// Scores the rows of a block.
void run_forest(const PreparedTask& prepared, void* const* addresses, uint32_t block) {
  const std::vector<int64_t>&y = prepared.task.operands[0].dims,
        &x = prepared.task.operands[1].dims;
  const auto bytes = static_cast<int64_t>(dtype_bytes(prepared.task.operands[0].dtype, 1));
  const int64_t first = block * prepared.rows_of_block;
  const int64_t rows = std::min(prepared.rows_of_block, x[0] - first);
  prepared.forest->score(static_cast<const std::byte*>(addresses[1]) + first * x[1] * bytes, x[1],
                         rows, static_cast<std::byte*>(addresses[0]) + first * y[1] * bytes);
}

Result<void> run(const void* state, void* const* addresses, uint32_t block) {
  const auto& prepared = *static_cast<const PreparedTask*>(state);
  if (prepared.forest != nullptr) {
    run_forest(prepared, addresses, block);
    return {};
  }
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

// An empty tensor has an address too: a tensor without address is absent.
TensorView view_of(const HostTensor& tensor) {
  static constexpr std::byte kNothing[1] = {};
  return {tensor.dtype, tensor.dims, tensor.bytes.empty() ? kNothing : tensor.bytes.data()};
}

Tensor copy_of(const HostTensor& tensor) {
  return {{}, tensor.dtype, tensor.dims, {tensor.bytes.begin(), tensor.bytes.end()}};
}

std::vector<EvalValue> elements_of(std::span<const HostTensor> tensors) {
  std::vector<EvalValue> elements;
  for (const HostTensor& tensor : tensors) elements.push_back(EvalValue::of(copy_of(tensor)));
  return elements;
}

EvalValue to_eval(const HostValue& value) {
  EvalValue result;
  result.kind = EvalValue::Kind::kSequence;
  if (value.kind == HostValue::Kind::kNone) result.kind = EvalValue::Kind::kNone;
  if (value.kind == HostValue::Kind::kMap) result.kind = EvalValue::Kind::kMap;
  if (value.kind != HostValue::Kind::kMaps) {
    result.elements = elements_of(value.tensors);
    return result;
  }
  for (size_t i = 0; i + 1 < value.tensors.size(); i += 2) {
    EvalValue map;
    map.kind = EvalValue::Kind::kMap;
    map.elements = elements_of(std::span(value.tensors).subspan(i, 2));
    result.elements.push_back(std::move(map));
  }
  return result;
}

// Returns the kind of a value. A sequence without elements counts as a sequence of tensors, because
// only its type could say more.
HostValue::Kind kind_of(const EvalValue& value) {
  using enum HostValue::Kind;
  if (value.kind == EvalValue::Kind::kMap) return kMap;
  if (value.kind != EvalValue::Kind::kSequence)
    return value.kind == EvalValue::Kind::kTensor ? kTensor : kNone;
  return !value.elements.empty() && value.elements[0].kind == EvalValue::Kind::kMap ? kMaps
                                                                                    : kSequence;
}

void add_tensors(const EvalValue& value, std::vector<HostTensor>& tensors) {
  if (value.tensor != nullptr) tensors.push_back(HostTensor::of(value.tensor));
  for (const EvalValue& element : value.elements) add_tensors(element, tensors);
}

HostValue from_eval(const EvalValue& value) {
  HostValue result{kind_of(value), {}};
  add_tensors(value, result.tensors);
  return result;
}

uint64_t byte_count(const EvalValue& value) {
  uint64_t bytes = value.tensor == nullptr ? 0 : value.tensor->bytes.size();
  for (const EvalValue& element : value.elements) bytes += byte_count(element);
  return bytes;
}

uint64_t byte_count(const HostValue& value) {
  uint64_t bytes = 0;
  for (const HostTensor& tensor : value.tensors) bytes += tensor.bytes.size();
  return bytes;
}

// The bytes of the values of one walk over a root graph, by the id of the value.
class ValueBytes {
 public:
  ValueBytes(const Graph& graph, std::span<const HostValue> inputs)
      : graph_(graph), bytes_(graph.value_limit()) {
    for (const Value& value : graph.values()) {
      if (!value.is_erased() && value.is_constant())
        of(value) = value.type().dense_bytes().value_or(0);
    }
    for (size_t i = 0; i < inputs.size(); ++i) of(*graph.inputs()[i]) = byte_count(inputs[i]);
  }

  void note(const Value& value, const EvalValue& made) { of(value) = byte_count(made); }

  // Reports all inputs and outputs of each node; after the walk.
  void report(std::span<const uint32_t> positions, const GraphHooks& hooks) {
    for (const Node& node : graph_.nodes()) {
      uint64_t bytes = 0;
      for (size_t i = 0; i < node.input_count(); ++i)
        bytes += node.input(i) == nullptr ? 0 : of(*node.input(i));
      for (size_t i = 0; i < node.output_count(); ++i) bytes += of(node.output(i));
      hooks.operands_counted(positions[static_cast<size_t>(node.id())], bytes);
    }
  }

 private:
  uint64_t& of(const Value& value) { return bytes_[static_cast<size_t>(value.id())]; }

  const Graph& graph_;
  std::vector<uint64_t> bytes_;
};

// counted: null unless the hooks ask for bytes.
EvalOptions eval_options(const HostGraph& graph, const GraphHooks& hooks, GraphWalk& walk,
                         ValueBytes* counted) {
  EvalOptions options;
  if (hooks.around_node) {
    options.around_node = [&](const Node& node, bool begins) {
      hooks.around_node(graph.positions[static_cast<size_t>(node.id())], begins);
    };
  }
  options.observer = [&graph, &hooks, &walk, counted](const Value& value, const EvalValue& made) {
    if (&value.graph() != &graph.module.root()) return;
    walk.note(value, made);
    if (counted != nullptr) counted->note(value, made);
    const bool is_parts =
        value.producer() != nullptr &&
        value.producer()->op() == Op::kCall;  // the executor of the part has reported it
    if (hooks.value_made && !is_parts) hooks.value_made(value.name(), from_eval(made));
  };
  return options;
}

Result<void> check_unread(const std::shared_ptr<void>& opened,
                          std::span<const PartResult> results) {
  const Graph& root = static_cast<const HostGraph*>(opened.get())->module.root();
  const auto is_unread = [&](const PartResult& wanted) {
    if (wanted.output >= root.outputs().size()) return false;
    const Value& value = *root.outputs()[wanted.output];
    const Node* call = value.producer();
    return call != nullptr && call->op() == Op::kCall &&
           call->get(attributes::Call::part) == int64_t{wanted.part} &&
           value.result() == wanted.result && value.uses().empty() &&
           std::count(root.outputs().begin(), root.outputs().end(), &value) == 1;
  };
  for (const PartResult& wanted : results) {
    if (is_unread(wanted)) continue;
    return make_error(ErrorCode::kBadCompiledModel,
                      "output {} is not result {} of part {} alone, which is written in place",
                      wanted.output, wanted.result, wanted.part);
  }
  return {};
}

int64_t part_of(const Node& node) {
  return node.op() == Op::kCall ? node.get(attributes::Call::part) : -1;
}

std::vector<PartResult> outputs_of_parts(const std::shared_ptr<void>& opened) {
  const Graph& root = static_cast<const HostGraph*>(opened.get())->module.root();
  std::map<int64_t, size_t> calls;
  for (const Node& node : root.nodes()) ++calls[part_of(node)];
  std::map<const Value*, size_t> times;
  for (const Value* output : root.outputs()) ++times[output];
  std::vector<PartResult> results;
  for (uint32_t i = 0; i < root.outputs().size(); ++i) {
    const Value& value = *root.outputs()[i];
    const int64_t part = value.producer() == nullptr ? -1 : part_of(*value.producer());
    const bool is_read = std::any_of(value.uses().begin(), value.uses().end(),
                                     [](const Use& use) { return part_of(*use.node) < 0; });
    if (part >= 0 && calls[part] == 1 && times[&value] == 1 && !is_read)
      results.push_back({static_cast<uint32_t>(part), static_cast<uint32_t>(value.result()), i});
  }
  return results;
}

Result<std::vector<HostValue>> run_graph(const std::shared_ptr<void>& opened,
                                         std::span<const HostValue> inputs,
                                         const GraphHooks& hooks) {
  const auto& graph = *static_cast<const HostGraph*>(opened.get());
  const UseTensorMemory memory(hooks.memory);
  std::deque<EvalValue> values;
  std::vector<EvalInput> operands;
  for (const HostValue& input : inputs) {
    const bool is_tensor = input.kind == HostValue::Kind::kTensor && input.tensors.size() == 1;
    operands.push_back(is_tensor ? EvalInput{view_of(input.tensors[0]), nullptr}
                                 : EvalInput{{}, &values.emplace_back(to_eval(input))});
  }
  GraphWalk walk(graph.module.root(), graph.positions, graph.requirements, hooks);
  for (size_t i = 0; i < inputs.size(); ++i) walk.bind_input(i, inputs[i]);
  const NodeRunner runner{
      [&](const Node& node) { return walk.takes(node); },
      [&](const Node& node, std::span<const TensorView> given) { return walk.run(node, given); }};
  std::optional<ValueBytes> counted;
  if (hooks.operands_counted) counted.emplace(graph.module.root(), inputs);
  EvalOptions options = eval_options(graph, hooks, walk, counted ? &*counted : nullptr);
  options.elsewhere = &runner;
  SLUICE_ASSIGN(const std::vector<EvalValue> results,
                evaluate_graph_on(graph.module.root(), operands, options));
  SLUICE_TRY(walk.sizes_fit());
  if (counted) counted->report(graph.positions, hooks);
  std::vector<HostValue> outputs;
  for (const EvalValue& result : results) outputs.push_back(from_eval(result));
  return outputs;
}

constexpr HostEngine kEngine{kHostEngineRelease, sizeof(HostEngine), open_graph, prepare, run,
                             check_unread,       outputs_of_parts,   run_graph};

}  // namespace
}  // namespace sluice

extern "C" __attribute__((visibility("default"))) const sluice::HostEngine* sluice_host_engine() {
  return &sluice::kEngine;
}
