#include "stages/optimize/fusion/decomposition.h"

#include <algorithm>

#include "common/ops/attributes.h"
#include "common/pass/can_fuse.h"
#include "common/pass/reduction_axes.h"
#include "common/pass/rewriter.h"
#include "stages/optimize/constants.h"

namespace sluice {
namespace {

// More nodes than any decomposition has.
constexpr size_t kMaxDecomposedNodes = 32;

bool is_inside(const Value& value, const std::vector<Node*>& nodes) {
  return !value.is_output() &&
         std::all_of(value.uses().begin(), value.uses().end(),
                     [&](const Use& use) { return list_contains(nodes, use.node); });
}

bool is_replaceable(const std::vector<Node*>& nodes, const Node& last) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const Node* node) {
    return node->output_count() == 1 && !node->placement.keep &&
           node->placement == last.placement && (node == &last || is_inside(node->output(), nodes));
  });
}

}  // namespace

const Node* find_maker(const Value* value, Op op) {
  const Node* node = value == nullptr ? nullptr : value->producer();
  return node != nullptr && node->op() == op && node->output_count() == 1 ? node : nullptr;
}

Node* find_only_reader(const Value& value) {
  if (value.is_output() || value.uses().empty()) return nullptr;
  Node* reader = value.uses()[0].node;
  const bool alone = std::all_of(value.uses().begin(), value.uses().end(),
                                 [&](const Use& use) { return use.node == reader; });
  return alone && reader->output_count() == 1 ? reader : nullptr;
}

Value& other_operand(const Node& node, const Value& one) {
  return node.input(0) == &one ? *node.input(1) : *node.input(0);
}

Scaled read_scaled(Value& value) {
  if (const Node* product = find_maker(&value, Op::kMul)) {
    if (const auto factor = find_number(product->input(1))) return {product->input(0), *factor};
    if (const auto factor = find_number(product->input(0))) return {product->input(1), *factor};
  }
  if (const Node* quotient = find_maker(&value, Op::kDiv)) {
    if (const auto divisor = find_number(quotient->input(1)))
      return {quotient->input(0), 1 / *divisor};
  }
  return {&value, 1};
}

std::optional<std::vector<int64_t>> kept_axes(const Node& reduction) {
  if (reduction.get(attributes::Reduce::keepdims) == 0) return std::nullopt;
  return reduced_axes(reduction);
}

std::optional<std::vector<Node*>> find_nodes_between(Editor& editor,
                                                     const std::vector<Value*>& inputs,
                                                     Node& last) {
  std::vector<Node*> nodes = {&last};
  for (size_t next = 0; next < nodes.size(); ++next) {
    const Node& node = *nodes[next];
    for (size_t i = 0; i < node.input_count(); ++i) {
      Value* value = node.input(i);
      if (value == nullptr || value->producer() == nullptr ||
          std::find(inputs.begin(), inputs.end(), value) != inputs.end() ||
          list_contains(nodes, value->producer()))
        continue;
      if (nodes.size() == kMaxDecomposedNodes) return std::nullopt;
      nodes.push_back(value->producer());
    }
  }
  std::string reason;
  if (!is_replaceable(nodes, last) || (editor.has_control_edges() && !can_fuse(nodes, reason)))
    return std::nullopt;
  std::sort(nodes.begin(), nodes.end(),
            [](const Node* a, const Node* b) { return a->is_before(*b); });
  return nodes;
}

Node& replace_by(Editor& editor, const std::vector<Node*>& nodes, Op op,
                 const std::vector<Value*>& inputs) {
  Value& result = nodes.back()->output();
  Replacement replacement(editor, nodes);
  Node& made = replacement.add(op, inputs);
  replacement.commit({{&result, &made.add_output(result.type_id())}});
  return made;
}

}  // namespace sluice
