// Moves nodes over constants that are too large to evaluate here into constant expressions, which
// sluice-build evaluates once.
//
//   before:  %1 = Cast(%w)   %2 = Transpose(%1)   %y = MatMul(%x, %2)      w: f16, 64 MB
//   after:   %y = MatMul(%x, %2)                                           2: constant,
//                                                                          Transpose(Cast(w))
//
// Legal for the reasons of fold-constants. Nodes that produce much more than they read (Expand,
// Tile) stay: their results are computed faster than loaded. Outputs of the model stay nodes. A
// chain is one expression; a result with several readers is an expression of its own, which the
// others read, so that every node is moved once.
#include <algorithm>
#include <map>

#include "common/eval/eval.h"
#include "common/eval/steps.h"
#include "common/ops/op_table.h"
#include "common/pass/editor.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

constexpr uint64_t kMaxExpansion = 8;  // result bytes for each byte read: from 4-bit weights to f32
constexpr uint64_t kMaxStepsPerByte = 4096;
constexpr uint32_t kMaxNesting = 50;  // of expressions over expressions

class ConstantDeferral {
 public:
  explicit ConstantDeferral(Graph& graph)
      : graph_(graph), editor_(graph), nesting_(static_cast<size_t>(graph.value_limit()), 0) {}

  bool run() {
    for (const Node& node : graph_.nodes()) {
      if (!is_deferrable(node)) continue;
      const uint32_t nesting = nesting_behind(node);
      if (nesting <= kMaxNesting) nesting_[index(node.output(0))] = nesting;
    }
    bool changed = false;
    for (Node& node : graph_.nodes()) {
      if (node.output_count() != 1 || !is_deferred(node.output(0)) ||
          !is_expression(node.output(0)))
        continue;
      Value& result = node.output(0);
      editor_.replace(result, graph_.add_constant(make_expression(node), result.name()));
      editor_.erase_unused(node);
      changed = true;
    }
    return changed;
  }

 private:
  static size_t index(const Value& value) { return static_cast<size_t>(value.id()); }
  // Returns false for values added by this pass, which are not deferred.
  bool is_deferred(const Value& value) const {
    return index(value) < nesting_.size() && nesting_[index(value)] > 0;
  }

  // Returns whether a value is deferred, and read by a node that stays or by more than one.
  bool is_expression(const Value& value) const {
    if (value.uses().size() != 1) return value.is_used();
    const Node& reader = *value.uses().front().node;
    return reader.output_count() != 1 || !is_deferred(reader.output(0));
  }

  bool is_constant(const Value& value) const {
    if (is_deferred(value)) return true;
    if (!value.is_constant() || value.is_input() || value.type().dtype == DType::kString)
      return false;
    return graph_.module().segment(value.segment()).kind != SegmentKind::kParameter;
  }

  bool is_deferrable(const Node& node) const {
    const OpRow* row = find_op(node.op());
    if (row == nullptr ||
        (row->flags & (kRandom | kControlFlow | kDataDependent | kAnyKind)) != 0 ||
        !is_evaluable(node.op()))
      return false;
    if (!is_removable(node) || node.placement.no_fold || !node.bodies().empty() ||
        node.output_count() != 1)
      return false;
    const Type& made = node.output(0).type();
    if (!made.is_tensor() || !made.is_fixed() || !made.dense_bytes().has_value() ||
        is_model_output(node.output(0)))
      return false;
    uint64_t read = 0;
    bool is_large = false;
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* input = node.input(i);
      if (input == nullptr) continue;
      if (!is_constant(*input) || !input->type().is_fixed()) return false;
      const bool is_opaque =
          is_deferred(*input) ||
          graph_.module().segment(input->segment()).kind == SegmentKind::kExpression;
      const bool is_repeated =
          !is_opaque && graph_.module().segment(input->segment()).kind == SegmentKind::kSplat;
      read += is_repeated ? 0 : input->type().dense_bytes().value_or(0);
      is_large = is_large || is_opaque;
    }
    is_large = is_large || read + *made.dense_bytes() > kFoldLimitBytes;
    const bool is_quick = hidden_steps(node) / kMaxStepsPerByte <= read + *made.dense_bytes();
    return is_large && is_quick && *made.dense_bytes() / kMaxExpansion <= read;
  }

  uint32_t nesting_behind(const Node& node) const {
    uint32_t maximum = 1;
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* input = node.input(i);
      if (input == nullptr) continue;
      if (is_deferred(*input)) {
        maximum =
            std::max(maximum, nesting_[index(*input)] + (input->uses().size() == 1 ? 0u : 1u));
      } else if (graph_.module().segment(input->segment()).kind == SegmentKind::kExpression) {
        maximum = std::max(maximum, 2u);
      }
    }
    return maximum;
  }

  // Returns the nodes of one expression, inputs first: those that only it reads.
  std::vector<const Node*> nodes_of(const Node& last) const {
    std::vector<const Node*> nodes, left = {&last};
    while (!left.empty()) {
      const Node& node = *left.back();
      left.pop_back();
      nodes.push_back(&node);
      for (size_t i = 0; i < node.input_count(); ++i) {
        const Value* input = node.input(i);
        if (input != nullptr && is_deferred(*input) && input->producer() != nullptr)
          left.push_back(input->producer());
      }
    }
    std::reverse(nodes.begin(), nodes.end());
    return nodes;
  }

  // Large constants are inputs of the expression, so that equal expressions over other weights have
  // equal graphs; small ones are inside.
  SegmentId make_expression(const Node& last) {
    Module& module = graph_.module();
    Graph& expression = module.add_graph(last.output(0).name(), GraphRole::kExpression);
    std::vector<SegmentId> inputs;
    // By value of the graph: the value that replaces it in the expression.
    std::map<int32_t, Value*> made;
    const auto operand = [&](const Value* value) -> Value* {
      if (value == nullptr) return nullptr;
      if (const auto known = made.find(value->id()); known != made.end()) return known->second;
      if (module.segment(value->segment()).size <= kSmallSegmentBytes)
        return &expression.add_constant(value->segment());
      inputs.push_back(value->segment());
      return made[value->id()] = &expression.add_input(value->type_id());
    };
    for (const Node* node : nodes_of(last)) {
      std::vector<Value*> operands;
      for (size_t i = 0; i < node->input_count(); ++i) operands.push_back(operand(node->input(i)));
      Node& copy = expression.add_node(node->op(), operands);
      for (const Attribute& attribute : node->attributes())
        copy.set_attribute(attribute.name, attribute.value);
      copy.output().set_type(node->output(0).type_id());
      made[node->output(0).id()] = &copy.output();
    }
    expression.add_output(*made[last.output(0).id()]);
    return module.make_expression(last.output(0).type_id(), expression.id(), std::move(inputs));
  }

  Graph& graph_;
  Editor editor_;
  // By value: nesting of the expression that will produce it; 0 for values that are not deferred.
  std::vector<uint32_t> nesting_;
};

}  // namespace

Result<bool> defer_constants(Graph& root, const Options&) {
  return on_every_graph(root,
                        [](Graph& graph) -> Result<bool> { return ConstantDeferral(graph).run(); });
}

}  // namespace sluice
