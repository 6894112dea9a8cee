#include "stages/preprocess/onnx/needed_nodes.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

namespace sluice {
namespace {

class NeededNodes {
 public:
  explicit NeededNodes(const onnx::GraphProto& graph)
      : graph_(graph), needed_(static_cast<size_t>(graph.node_size()), false) {
    for (int i = 0; i < graph.node_size(); ++i) {
      for (const std::string& output : graph.node(i).output()) producers_.emplace(output, i);
      if (!graph.node(i).name().empty()) nodes_.emplace(graph.node(i).name(), i);
    }
    for (const auto& input : graph.input()) given_.insert(input.name());
    for (const auto& tensor : graph.initializer()) given_.insert(tensor.name());
    for (const auto& tensor : graph.sparse_initializer()) given_.insert(tensor.values().name());
    producers_.erase("");  // the name of absent outputs
  }

  // Returns false when no such value or node exists.
  bool add_item(const std::string& item) {
    if (given_.contains(item) || add_value(item)) return true;
    const size_t colon = item.rfind(':');
    const auto node = colon == std::string::npos
                          ? nodes_.end()
                          : nodes_.find(std::string_view(item).substr(0, colon));
    if (node != nodes_.end()) add(node->second);
    return node != nodes_.end();
  }

  void follow() {
    while (!waiting_.empty()) {
      const int node = waiting_.back();
      waiting_.pop_back();
      add_inputs(graph_.node(node));
    }
  }

  bool is_needed(int node) const { return needed_[static_cast<size_t>(node)]; }
  bool is_made(const std::string& value) const {
    const auto producer = producers_.find(value);
    return producer == producers_.end() || is_needed(producer->second);
  }

 private:
  void add(int node) {
    if (!needed_[static_cast<size_t>(node)]) waiting_.push_back(node);
    needed_[static_cast<size_t>(node)] = true;
  }

  bool add_value(const std::string& name) {
    const auto producer = producers_.find(name);
    if (producer != producers_.end()) add(producer->second);
    return producer != producers_.end();
  }

  // Adds, for bodies, every name that is read: their captures are among them.
  void add_inputs(const onnx::NodeProto& node) {
    for (const std::string& input : node.input()) add_value(input);
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) add_body(attribute.g());
      for (const onnx::GraphProto& body : attribute.graphs()) add_body(body);
    }
  }

  void add_body(const onnx::GraphProto& body) {
    for (const onnx::NodeProto& node : body.node()) add_inputs(node);
    for (const onnx::ValueInfoProto& output : body.output()) add_value(output.name());
  }

  const onnx::GraphProto& graph_;
  std::vector<bool> needed_;
  std::vector<int> waiting_;
  std::unordered_map<std::string_view, int> producers_, nodes_;
  std::set<std::string_view> given_;
};

// Erases elements in place: the order and the addresses of the others do not change, since opsets
// of nodes are looked up by address.
template <typename List, typename Keep>
void erase_unless(List& list, Keep keep) {
  int kept = 0;
  for (int i = 0; i < list.size(); ++i) {
    if (keep(i)) list.SwapElements(kept++, i);
  }
  list.DeleteSubrange(kept, list.size() - kept);
}

}  // namespace

void keep_needed_nodes(onnx::GraphProto& graph, const std::vector<std::string>& items) {
  NeededNodes nodes(graph);
  const bool are_known =
      std::ranges::all_of(items, [&](const std::string& item) { return nodes.add_item(item); });
  if (items.empty() || !are_known) return;
  nodes.follow();
  erase_unless(*graph.mutable_output(),
               [&](int i) { return nodes.is_made(graph.output(i).name()); });
  erase_unless(*graph.mutable_node(), [&](int i) { return nodes.is_needed(i); });
}

}  // namespace sluice
