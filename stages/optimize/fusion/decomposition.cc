#include "stages/optimize/fusion/decomposition.h"

#include <algorithm>
#include <numeric>

#include "common/ops/attributes.h"
#include "common/pass/boundary.h"
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

Value* read_sum(const Value& value, double number) {
  const Node* sum = find_maker(&value, Op::kAdd);
  if (sum == nullptr) return nullptr;
  if (is_number(sum->input(1), number)) return sum->input(0);
  return is_number(sum->input(0), number) ? sum->input(1) : nullptr;
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
  const Type& type = reduction.input(0)->type();
  if (!type.is_tensor() || !type.ranked || reduction.get(attributes::Reduce::keepdims) == 0 ||
      reduction.get(attributes::Reduce::noop_with_empty_axes) != 0)
    return std::nullopt;
  std::vector<int64_t> axes(type.dims.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (reduction.input(1) == nullptr) return axes;
  const auto given = constant_ints(reduction.input(1));
  if (!given) return std::nullopt;
  if (given->empty()) return axes;
  axes = *given;
  for (int64_t& axis : axes) axis += axis < 0 ? type.rank() : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}

std::optional<GatedProduct> find_gated(Value& gate, double factor,
                                       const std::function<bool(Value&)>& is_x) {
  const DType dtype = gate.type().dtype;
  Value *current = &gate, *x = nullptr;
  double product = 1;
  while (Node* reader = find_only_reader(*current)) {
    if (reader->op() != Op::kMul && reader->op() != Op::kDiv) return std::nullopt;
    const bool divides = reader->op() == Op::kDiv;
    Value& other = other_operand(*reader, *current);
    if (divides && (reader->input(0) != current || !find_number(&other))) return std::nullopt;
    if (const auto number = find_number(&other)) {
      product *= divides ? 1 / *number : *number;
    } else {
      const Scaled scaled = is_x(other) ? Scaled{&other} : read_scaled(other);
      if (x != nullptr || !is_x(*scaled.value)) return std::nullopt;
      x = scaled.value;
      product *= scaled.factor;
    }
    current = &reader->output();
    if (x != nullptr && is_close(dtype, product, factor)) return GatedProduct{reader, x};
  }
  return std::nullopt;
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
  Node& last = *nodes.back();
  Node& made = editor.graph().add_node(op, inputs, 0, &last);
  made.set_name(last.name());
  made.placement = last.placement;
  for (const Node* node : nodes) made.add_origins(node->origins());
  Value& result = made.add_output(last.output().type_id(), last.output().name());
  editor.replace(last.output(), result);
  editor.control().transfer(nodes, {&made});
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) editor.graph().erase_node(**node);
  return made;
}

Node* replace_between(Editor& editor, const std::vector<Value*>& inputs, Node& last, Op op) {
  const auto nodes = find_nodes_between(editor, inputs, last);
  return nodes ? &replace_by(editor, *nodes, op, inputs) : nullptr;
}

}  // namespace sluice
