#include "stages/preprocess/onnx/node_order.h"

#include <functional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "stages/preprocess/onnx/operators.h"

namespace sluice {
namespace {

using Names = std::set<std::string_view>;

void add_free_names(const onnx::GraphProto& body, Names& names);

void add_read_names(const onnx::NodeProto& node, Names& names) {
  for (const std::string& input : node.input()) {
    if (!input.empty()) names.insert(input);
  }
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) add_free_names(attribute.g(), names);
    for (const onnx::GraphProto& body : attribute.graphs()) add_free_names(body, names);
  }
}

// Adds the names that a body reads but does not define.
void add_free_names(const onnx::GraphProto& body, Names& names) {
  std::unordered_set<std::string_view> defined;
  for (const auto& input : body.input()) defined.insert(input.name());
  for (const auto& tensor : body.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : body.sparse_initializer()) defined.insert(tensor.values().name());
  Names read;
  for (const onnx::NodeProto& node : body.node()) {
    defined.insert(node.output().begin(), node.output().end());
    add_read_names(node, read);
  }
  for (const auto& output : body.output()) read.insert(output.name());
  for (const std::string_view name : read) {
    if (defined.count(name) == 0) names.insert(name);
  }
}

Error cycle(const onnx::GraphProto& graph, const std::vector<size_t>& waiting) {
  std::string nodes;
  for (size_t i = 0; i < waiting.size() && nodes.size() < 200; ++i) {
    if (waiting[i] > 0)
      nodes += (nodes.empty() ? "" : ", ") + node_label(graph.node(static_cast<int>(i)));
  }
  return make_error(ErrorCode::kBadModel, "the graph has a cycle through {}", nodes);
}

}  // namespace

std::string node_label(const onnx::NodeProto& node) {
  const std::string name =
      node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
  return fmt::format("node '{}' ({})", name, node.op_type());
}

Result<std::vector<const onnx::NodeProto*>> order_nodes(const onnx::GraphProto& graph) {
  const auto count = static_cast<size_t>(graph.node_size());
  std::unordered_map<std::string_view, size_t> producers;
  for (size_t i = 0; i < count; ++i) {
    for (const std::string& output : graph.node(static_cast<int>(i)).output()) {
      if (output.empty()) continue;
      const auto [known, inserted] = producers.emplace(output, i);
      if (inserted) continue;
      const onnx::NodeProto& first = graph.node(static_cast<int>(known->second));
      const onnx::NodeProto& second = graph.node(static_cast<int>(i));
      if (!is_constant_node(first) || !is_constant_node(second))
        return make_error(ErrorCode::kBadModel, "value '{}' is defined twice, by {} and {}", output,
                          node_label(first), node_label(second));
      known->second = i;  // readers come after the last one
    }
  }
  std::vector<std::vector<size_t>> readers(count);
  std::vector<size_t> waiting(count, 0);
  for (size_t i = 0; i < count; ++i) {
    Names names;
    add_read_names(graph.node(static_cast<int>(i)), names);
    for (const std::string_view name : names) {
      const auto producer = producers.find(name);
      if (producer == producers.end()) continue;
      readers[producer->second].push_back(i);
      ++waiting[i];
    }
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<const onnx::NodeProto*> order;
  while (!ready.empty()) {
    const size_t next = ready.top();
    ready.pop();
    order.push_back(&graph.node(static_cast<int>(next)));
    for (const size_t reader : readers[next]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() != count) return cycle(graph, waiting);
  return order;
}

}  // namespace sluice
