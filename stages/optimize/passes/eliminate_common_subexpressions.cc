// Merges nodes that compute the same, and constants that are the same.
//
//   before:  %1 = Relu(%x)   %2 = Relu(%x)   %y = Add(%1, %2)
//   after:   %1 = Relu(%x)   %y = Add(%1, %1)
//
// Legal for equal op, inputs, attributes, types of results and placement (stream label, stage
// level, …); never for random ops, nodes with bodies, nodes that run after others, or those that
// the placement keeps. The remaining node takes the origins of the erased one. Nodes are compared
// within one graph, in order, through a hash, so chains of equal nodes merge in one pass. An output
// of the model merges only into a value that can take its name.
#include <unordered_map>

#include "common/ops/op_table.h"
#include "stages/optimize/editor.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

void mix(size_t& seed, size_t value) {
  seed ^= value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2);
}

struct AttributeHash {
  size_t operator()(TypeRef ref) const { return std::hash<int32_t>{}(ref.id); }
  size_t operator()(SegmentRef ref) const { return std::hash<int32_t>{}(ref.id); }
  size_t operator()(GraphRef ref) const { return std::hash<int32_t>{}(ref.id); }
  template <typename T>
  size_t operator()(const T& value) const {
    return std::hash<T>{}(value);
  }
  template <typename T>
  size_t operator()(const std::vector<T>& values) const {
    size_t seed = values.size();
    for (const T& value : values) mix(seed, (*this)(value));
    return seed;
  }
};

size_t hash_of(const Node& node) {
  size_t seed = static_cast<size_t>(node.op());
  for (size_t i = 0; i < node.input_count(); ++i)
    mix(seed, node.input(i) == nullptr ? 0 : static_cast<size_t>(node.input(i)->id()) + 1);
  for (const Attribute& attribute : node.attributes()) {
    mix(seed, std::hash<std::string>{}(attribute.name));
    mix(seed, std::visit(AttributeHash{}, attribute.value));
  }
  return seed;
}

bool computes_the_same(const Node& a, const Node& b) {
  if (a.op() != b.op() || a.input_count() != b.input_count() ||
      a.output_count() != b.output_count() || !(a.placement == b.placement))
    return false;
  for (size_t i = 0; i < a.input_count(); ++i) {
    if (a.input(i) != b.input(i)) return false;
  }
  for (size_t i = 0; i < a.output_count(); ++i) {
    if (a.output(i).type_id() != b.output(i).type_id()) return false;
    if (is_model_output(a.output(i)) && is_model_output(b.output(i))) return false;
  }
  return a.attributes() == b.attributes();
}

bool is_mergeable(const Node& node) {
  const OpRow* row = find_op(node.op());
  return row != nullptr && (row->flags & kRandom) == 0 && is_removable(node) &&
         node.after().empty() && node.bodies().empty();
}

bool merge_constants(Graph& graph) {
  std::unordered_map<SegmentId, Value*> known;
  bool changed = false;
  for (Value& value : graph.values()) {
    if (value.is_erased() || !value.is_constant() || value.is_input() ||
        value.producer() != nullptr || is_model_output(value))
      continue;
    const auto [first, inserted] = known.try_emplace(value.segment(), &value);
    if (inserted || first->second->type_id() != value.type_id() || !value.is_used()) continue;
    graph.replace_all_uses(value, *first->second);
    graph.erase_value(value);
    changed = true;
  }
  return changed;
}

Result<bool> run(Graph& graph) {
  Editor editor(graph);
  bool changed = merge_constants(graph);
  std::unordered_map<size_t, std::vector<Node*>> known;
  for (Node& node : graph.nodes()) {
    if (!is_mergeable(node)) continue;
    std::vector<Node*>& alike = known[hash_of(node)];
    Node* first = nullptr;
    for (Node* candidate : alike)
      first = first == nullptr && computes_the_same(*candidate, node) ? candidate : first;
    if (first == nullptr) {
      alike.push_back(&node);
      continue;
    }
    for (size_t i = 0; i < node.output_count(); ++i)
      editor.replace(node.output(i), first->output(i));
    first->add_origins(node.origins());
    editor.control().transfer({&node}, {first});
    graph.erase_node(node);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> eliminate_common_subexpressions(Graph& root, const Options&) {
  return on_every_graph(root, run);
}

}  // namespace sluice
