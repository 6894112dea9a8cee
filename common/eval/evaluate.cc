// Nodes, graphs and constants.
#include <deque>
#include <functional>

#include "common/base/memory.h"
#include "common/eval/call.h"
#include "common/eval/strided.h"

namespace sluice::eval {
namespace {

using ParameterLookup = std::function<Operand(SegmentId)>;

Tensor expand_splat(const Type& type, std::span<const std::byte> element) {
  Tensor tensor = make_tensor(type.dtype, *type.extents());
  for (size_t at = 0; at + element.size() <= tensor.bytes.size(); at += element.size()) {
    std::copy(element.begin(), element.end(),
              tensor.bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return tensor;
}

Result<void> check_bytes(const Module& module, const Segment& segment,
                         std::span<const std::byte> bytes) {
  const Type& type = module.type(segment.type);
  if (!type.is_fixed())
    return make_error(ErrorCode::kBadGraph, "a constant has a type that is not a fixed tensor");
  const bool fits =
      type.dtype == DType::kString
          ? bytes.size() >= (static_cast<size_t>(*type.element_count()) + 1) * sizeof(uint64_t)
          : bytes.size() == type.dense_bytes();
  if (fits) return {};
  return make_error(ErrorCode::kBadGraph, "a constant of type {}[{}] has {} bytes",
                    dtype_name(type.dtype), dims_text(*type.extents()), bytes.size());
}

// The constants of one graph (or of an expression) as operands. Owns those that it computed.
class Constants {
 public:
  Constants(const Module& module, ParameterLookup parameters, const EvalOptions& options)
      : module_(module), parameters_(std::move(parameters)), options_(options) {}

  // Each constant is computed once, since expressions may read one another many times.
  Result<Operand> load(SegmentId id) {
    if (const auto found = loaded_.find(id); found != loaded_.end()) return found->second;
    SLUICE_ASSIGN(const Operand operand, make(id));
    loaded_.emplace(id, operand);
    return operand;
  }

 private:
  Result<Operand> make(SegmentId id) {
    const Segment& segment = module_.segment(id);
    switch (segment.kind) {
      case SegmentKind::kParameter: {
        const Operand operand = parameters_ ? parameters_(id) : Operand{};
        if (!operand.present())
          return make_error(ErrorCode::kMissingSegment, "a parameter is not bound here");
        return operand;
      }
      case SegmentKind::kExpression:
        return load_expression(segment);
      case SegmentKind::kSplat:
        if (!module_.type(segment.type).is_fixed())
          return make_error(ErrorCode::kBadGraph, "a splat has a type that is not fixed");
        return hold(EvalValue::of(expand_splat(module_.type(segment.type), segment.data)));
      default: {
        SLUICE_ASSIGN(const auto bytes, module_.bytes(id));
        SLUICE_TRY(check_bytes(module_, segment, bytes));
        const Type& type = module_.type(segment.type);
        if (!is_aligned(bytes.data(), type.dtype)) {
          return hold(EvalValue::of(
              Tensor{{}, type.dtype, *type.extents(), TensorBytes(bytes.begin(), bytes.end())}));
        }
        const std::vector<int64_t>& dims = dims_.emplace_back(*type.extents());
        return Operand{{type.dtype, dims, bytes.data()}, nullptr};
      }
    }
  }

  Operand hold(EvalValue value) { return Operand::of(values_.emplace_back(std::move(value))); }

  Result<Operand> load_expression(const Segment& segment) {
    std::vector<Operand> inputs;
    for (const SegmentId input : segment.inputs) {
      SLUICE_ASSIGN(Operand operand, load(input));
      inputs.push_back(operand);
    }
    if (!module_.has_graph(segment.graph))
      return make_error(ErrorCode::kBadGraph, "a constant expression has no graph");
    SLUICE_ASSIGN(auto outputs, evaluate_body(module_.graph(segment.graph), inputs, options_));
    if (outputs.empty() || outputs[0].tensor == nullptr) {
      return make_error(ErrorCode::kBadGraph, "a constant expression gives no tensor");
    }
    return hold(std::move(outputs[0]));
  }

  const Module& module_;
  ParameterLookup parameters_;
  const EvalOptions& options_;
  std::map<SegmentId, Operand> loaded_;
  std::deque<EvalValue> values_;
  std::deque<std::vector<int64_t>> dims_;
};

// One evaluation of one graph.
class GraphRun {
 public:
  GraphRun(const Graph& graph, const EvalOptions& options)
      : graph_(graph),
        options_(options),
        constants_(
            graph.module(), [this](SegmentId id) { return parameter(id); }, options),
        slots_(graph.value_limit()) {}

  Result<std::vector<EvalValue>> run(std::span<const Operand> inputs) {
    if (inputs.size() != graph_.inputs().size()) {
      return make_error(ErrorCode::kBadGraph, "graph '{}' has {} inputs, {} were given",
                        graph_.name(), graph_.inputs().size(), inputs.size());
    }
    for (size_t i = 0; i < inputs.size(); ++i) slot(*graph_.inputs()[i]).operand = inputs[i];
    for (const Value& value : graph_.values()) {
      if (!value.is_erased()) slot(value).uses_left = value.uses().size();
    }
    for (const Node& node : graph_.nodes()) SLUICE_TRY(run_node(node));
    std::vector<EvalValue> outputs;
    for (const Value* output : graph_.outputs()) {
      SLUICE_ASSIGN(const Operand operand, find(*output));
      outputs.push_back(value_of(operand));
    }
    return outputs;
  }

 private:
  struct Slot {
    Operand operand;
    EvalValue value;
    size_t uses_left = 0;
    bool loaded = false;
  };
  Slot& slot(const Value& value) { return slots_[static_cast<size_t>(value.id())]; }

  Operand parameter(SegmentId id) {
    for (const Value* input : graph_.inputs()) {
      if (input->segment() == id) return slot(*input).operand;
    }
    return {};
  }

  Result<Operand> find(const Value& value) {
    Slot& found = slot(value);
    if (value.is_constant() && !value.is_input() && !found.loaded) {
      SLUICE_ASSIGN(found.operand, constants_.load(value.segment()));
      found.loaded = true;
    }
    return found.operand;
  }

  Result<void> run_node(const Node& node) {
    std::vector<Operand> operands(node.input_count());
    for (size_t i = 0; i < operands.size(); ++i) {
      if (node.input(i) != nullptr) {
        SLUICE_ASSIGN(operands[i], find(*node.input(i)));
      }
    }
    const bool is_watched = options_.around_node && graph_.role == GraphRole::kRoot;
    if (is_watched) options_.around_node(node, true);
    SLUICE_ASSIGN(std::vector<EvalValue> outputs, results_of(node, operands));
    if (is_watched) options_.around_node(node, false);
    for (size_t i = 0; i < outputs.size(); ++i) {
      Slot& made = slot(node.output(i));
      made.value = std::move(outputs[i]);
      made.operand = Operand::of(made.value);
      if (options_.observer) options_.observer(node.output(i), made.value);
      if (!node.output(i).is_used()) made = {};
    }
    release_inputs(node);
    return {};
  }

  Result<std::vector<EvalValue>> results_of(const Node& node, std::span<const Operand> operands) {
    if (options_.elsewhere != nullptr && options_.elsewhere->takes(node))
      return run_elsewhere(node, operands);
    EvalCall call(node, operands, {}, options_);
    SLUICE_TRY(run_kernel(call));
    return call.take_outputs();
  }

  Result<std::vector<EvalValue>> run_elsewhere(const Node& node,
                                               std::span<const Operand> operands) {
    std::vector<TensorView> inputs;
    for (const Operand& operand : operands) inputs.push_back(operand.view);
    SLUICE_ASSIGN(std::vector<EvalValue> outputs, options_.elsewhere->run(node, inputs));
    if (outputs.size() == node.output_count()) return outputs;
    return make_error(ErrorCode::kBadNode, "{}: has {} outputs, {} were made", node.label(),
                      node.output_count(), outputs.size());
  }

  void release_inputs(const Node& node) {
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* value = node.input(i);
      if (value == nullptr || --slot(*value).uses_left > 0) continue;
      if (value->producer() != nullptr && !value->is_output()) slot(*value) = {};
    }
  }

  const Graph& graph_;
  const EvalOptions& options_;
  Constants constants_;
  std::vector<Slot> slots_;
};

}  // namespace

Result<void> run_kernel(EvalCall& call) {
  const KernelRow* kernel = find_kernel(call.node.op());
  if (kernel == nullptr)
    return make_error(ErrorCode::kNotEvaluable, "{}: the reference evaluator has no kernel",
                      call.node.label());
  const auto run = [&]() -> Result<void> {
    SLUICE_TRY(call.start(kernel->promotion));
    SLUICE_TRY(kernel->run(call));
    return call.finish();
  };
  return within_memory(run, [&] { return call.node.label(); });
}

Result<std::vector<EvalValue>> evaluate_body(const Graph& graph, std::span<const Operand> inputs,
                                             const EvalOptions& options) {
  return GraphRun(graph, options).run(inputs);
}

}  // namespace sluice::eval

namespace sluice {

EvalValue::EvalValue() = default;
EvalValue::EvalValue(const EvalValue&) = default;
EvalValue::EvalValue(EvalValue&&) noexcept = default;
EvalValue& EvalValue::operator=(const EvalValue&) = default;
EvalValue& EvalValue::operator=(EvalValue&&) noexcept = default;
EvalValue::~EvalValue() = default;

EvalValue EvalValue::of(Tensor tensor) {
  EvalValue value;
  value.tensor = std::make_shared<const Tensor>(std::move(tensor));
  return value;
}

bool is_evaluable(Op op) { return eval::find_kernel(op) != nullptr; }

Result<std::vector<EvalValue>> evaluate_node(const Node& node,
                                             std::span<const EvalValue* const> inputs) {
  std::vector<eval::Operand> operands;
  for (const EvalValue* input : inputs)
    operands.push_back(input != nullptr ? eval::Operand::of(*input) : eval::Operand{});
  const EvalOptions options;
  eval::EvalCall call(node, operands, {}, options);
  SLUICE_TRY(eval::run_kernel(call));
  return call.take_outputs();
}

Result<void> evaluate_node_into(const Node& node, std::span<const TensorView> inputs,
                                std::span<const MutableTensorView> outputs) {
  std::vector<eval::Operand> operands;
  for (const TensorView& input : inputs) operands.push_back({input, nullptr});
  const EvalOptions options;
  eval::EvalCall call(node, operands, outputs, options);
  return eval::run_kernel(call);
}

Result<std::vector<EvalValue>> evaluate_graph(const Graph& graph, std::vector<EvalValue> inputs,
                                              const EvalOptions& options) {
  std::vector<eval::Operand> operands;
  for (const EvalValue& input : inputs) operands.push_back(eval::Operand::of(input));
  return eval::evaluate_body(graph, operands, options);
}

Result<std::vector<EvalValue>> evaluate_graph_on(const Graph& graph,
                                                 std::span<const EvalInput> inputs,
                                                 const EvalOptions& options) {
  std::vector<eval::Operand> operands;
  for (const EvalInput& input : inputs)
    operands.push_back(input.value != nullptr ? eval::Operand::of(*input.value)
                                              : eval::Operand{input.view, nullptr});
  return eval::evaluate_body(graph, operands, options);
}

Result<Tensor> evaluate_segment(const Module& module, SegmentId segment) {
  const EvalOptions options;
  eval::Constants constants(module, {}, options);
  SLUICE_ASSIGN(const eval::Operand operand, constants.load(segment));
  EvalValue value = eval::value_of(operand);
  return *value.tensor;
}

}  // namespace sluice
