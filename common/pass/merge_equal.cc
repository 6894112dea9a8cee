#include "common/pass/merge_equal.h"

#include <algorithm>
#include <unordered_map>

#include "common/pass/editor.h"

namespace sluice {
namespace {

void mix(size_t& seed, size_t value) {
  seed ^= value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2);
}

struct AttributeHash {
  size_t operator()(TypeRef ref) const { return std::hash<int32_t>{}(ref.id); }
  size_t operator()(SegmentRef ref) const { return std::hash<int32_t>{}(ref.id); }
  size_t operator()(GraphRef) const { return 0; }  // equal bodies may be different graphs
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

bool are_equal(const Module& module, const Attribute& a, const Attribute& b) {
  const auto *first = std::get_if<GraphRef>(&a.value), *second = std::get_if<GraphRef>(&b.value);
  if (first == nullptr || second == nullptr) return a == b;
  return a.name == b.name &&
         graph_digest(module.graph(first->id)) == graph_digest(module.graph(second->id));
}

bool can_merge(const Value& a, const Value& b) {
  return a.type_id() == b.type_id() && a.storage_id() == b.storage_id() &&
         !(is_model_output(a) && is_model_output(b));
}

bool computes_the_same(const Node& a, const Node& b) {
  if (a.op() != b.op() || a.input_count() != b.input_count() ||
      a.output_count() != b.output_count() || !is_alike_for_users(a.placement, b.placement))
    return false;
  for (size_t i = 0; i < a.input_count(); ++i) {
    if (a.input(i) != b.input(i)) return false;
  }
  for (size_t i = 0; i < a.output_count(); ++i) {
    if (!can_merge(a.output(i), b.output(i))) return false;
  }
  return std::ranges::equal(a.attributes(), b.attributes(), [&](const auto& x, const auto& y) {
    return are_equal(a.graph().module(), x, y);
  });
}

bool merge_constants(Graph& graph) {
  std::unordered_map<SegmentId, Value*> known;
  bool changed = false;
  for (Value& value : graph.values()) {
    if (value.is_erased() || !value.is_constant() || value.is_input() ||
        value.producer() != nullptr || is_model_output(value))
      continue;
    const auto [first, inserted] = known.try_emplace(value.segment(), &value);
    if (inserted || !can_merge(*first->second, value) || !value.is_used()) continue;
    graph.replace_all_uses(value, *first->second);
    graph.erase_value(value);
    changed = true;
  }
  return changed;
}

}  // namespace

bool merge_equal_nodes_of(Graph& graph, bool (*is_mergeable)(const Node& node)) {
  Editor editor(graph);
  bool changed = merge_constants(graph);
  std::unordered_map<size_t, std::vector<Node*>> known;
  for (Node& node : graph.nodes()) {
    if (!is_mergeable(node)) continue;
    std::vector<Node*>& alike = known[hash_of(node)];
    const auto first = std::ranges::find_if(
        alike, [&](const Node* candidate) { return computes_the_same(*candidate, node); });
    if (first == alike.end()) {
      alike.push_back(&node);
      continue;
    }
    for (size_t i = 0; i < node.output_count(); ++i)
      editor.replace(node.output(i), (*first)->output(i));
    (*first)->add_origins(node.origins());
    editor.control().transfer({&node}, {*first});
    graph.erase_node(node);
    changed = true;
  }
  return changed;
}

}  // namespace sluice
