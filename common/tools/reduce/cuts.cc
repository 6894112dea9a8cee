#include "common/tools/reduce/cuts.h"

#include <algorithm>

namespace sluice {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

std::set<std::string> reads_of_kept(const GraphProto& graph, const std::vector<bool>& keep) {
  std::set<std::string> reads;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (keep[static_cast<size_t>(i)]) reads.merge(reads_of(graph.node(i)));
  }
  return reads;
}

// Also keeps the nodes that make values whose type is unknown and that are read.
void keep_untyped(const GraphProto& graph, const Types& types, std::vector<bool>& keep,
                  std::set<std::string>& reads) {
  for (bool grew = true; grew;) {
    grew = false;
    for (int i = graph.node_size() - 1; i >= 0; --i) {
      if (keep[static_cast<size_t>(i)]) continue;
      const auto& outputs = graph.node(i).output();
      if (std::none_of(outputs.begin(), outputs.end(), [&](const auto& name) {
            return reads.contains(name) && !types.contains(name);
          }))
        continue;
      keep[static_cast<size_t>(i)] = grew = true;
      reads.merge(reads_of(graph.node(i)));
    }
  }
}

void erase_nodes(GraphProto& graph, const std::vector<bool>& keep) {
  int kept = 0;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (keep[static_cast<size_t>(i)]) graph.mutable_node()->SwapElements(kept++, i);
  }
  graph.mutable_node()->DeleteSubrange(kept, graph.node_size() - kept);
}

void add_output(GraphProto& graph, const std::string& name, const Types& types) {
  for (const auto& output : graph.output()) {
    if (output.name() == name) return;
  }
  auto& output = *graph.add_output();
  output.set_name(name);
  if (const auto type = types.find(name); type != types.end())
    *output.mutable_type() = type->second;
}

// Chooses old outputs that are still made, then values that only dropped nodes read.
void choose_outputs(const GraphProto& whole, const std::vector<bool>& keep,
                    const std::set<std::string>& reads, const Types& types, GraphProto& graph) {
  std::set<std::string> read_before;
  for (const NodeProto& node : whole.node()) read_before.merge(reads_of(node));
  std::set<std::string> made;
  for (int i = 0; i < whole.node_size(); ++i) {
    if (keep[static_cast<size_t>(i)])
      made.insert(whole.node(i).output().begin(), whole.node(i).output().end());
  }
  graph.clear_output();
  for (const auto& output : whole.output()) {
    if (made.contains(output.name())) *graph.add_output() = output;
  }
  for (int i = 0; i < whole.node_size(); ++i) {
    if (!keep[static_cast<size_t>(i)]) continue;
    for (const std::string& name : whole.node(i).output()) {
      if (!name.empty() && read_before.contains(name) && !reads.contains(name))
        add_output(graph, name, types);
    }
  }
}

bool same_type(const Types& types, const std::string& a, const std::string& b) {
  const auto first = types.find(a), second = types.find(b);
  return first != types.end() && second != types.end() &&
         first->second.SerializeAsString() == second->second.SerializeAsString();
}

// Removes outputs of the model's graph that no node makes, and repeated ones.
void tidy_outputs(GraphProto& graph) {
  std::set<std::string> made;
  for (const NodeProto& node : graph.node())
    made.insert(node.output().begin(), node.output().end());
  GraphProto tidy;
  for (const auto& output : graph.output()) {
    if (made.erase(output.name()) > 0) *tidy.add_output() = output;
  }
  graph.mutable_output()->Swap(tidy.mutable_output());
}

void drop_dead(GraphProto& graph) {
  std::vector<bool> keep(static_cast<size_t>(graph.node_size()), false);
  std::set<std::string> reads;
  for (const auto& output : graph.output()) reads.insert(output.name());
  for (bool grew = true; grew;) {
    grew = false;
    for (int i = graph.node_size() - 1; i >= 0; --i) {
      const auto& outputs = graph.node(i).output();
      if (keep[static_cast<size_t>(i)] ||
          std::none_of(outputs.begin(), outputs.end(),
                       [&](const auto& name) { return reads.contains(name); }))
        continue;
      keep[static_cast<size_t>(i)] = grew = true;
      reads.merge(reads_of(graph.node(i)));
    }
  }
  erase_nodes(graph, keep);
}

// The correspondence of a body's inputs and outputs to those of its node: pairs of (body's index,
// node's index).
struct BodyPorts {
  std::vector<std::pair<int, int>> inputs, outputs;
};

BodyPorts ports_of(const NodeProto& node, const GraphProto& body) {
  BodyPorts ports;
  const auto pair = [](auto& list, int begin, int shift, int count) {
    for (int i = begin; i < count; ++i) list.emplace_back(i, i + shift);
  };
  if (node.op_type() == "If")
    pair(ports.outputs, 0, 0, std::min(body.output_size(), node.output_size()));
  if (node.op_type() == "Loop") {  // count, condition, states; condition, states, rows
    const int states = std::min(body.input_size(), node.input_size()) - 2;
    pair(ports.inputs, 2, 0, states + 2);
    pair(ports.outputs, 1, -1, std::min({states + 1, body.output_size(), node.output_size() + 1}));
  }
  if (node.op_type() == "Scan") {  // states, slices; states, rows
    int slices = 0;
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.name() == "num_scan_inputs") slices = static_cast<int>(attribute.i());
    }
    const int states = std::max(0, std::min(body.input_size(), node.input_size()) - slices);
    pair(ports.inputs, 0, 0, states);
    pair(ports.outputs, 0, 0, std::min({states, body.output_size(), node.output_size()}));
  }
  return ports;
}

// Renames names of the body that other values have, too.
void make_names_unique(const ModelProto& model, GraphProto& body, const std::string& prefix) {
  const auto counts = definitions(model);
  std::map<std::string, std::string> names;
  const auto rename = [&](std::string& name) {
    const auto found = counts.find(name);
    if (name.empty() || found == counts.end() || found->second < 2) return;
    names[name] = prefix + name;
    name = prefix + name;
  };
  for (auto& input : *body.mutable_input()) rename(*input.mutable_name());
  for (auto& tensor : *body.mutable_initializer()) rename(*tensor.mutable_name());
  for (NodeProto& node : *body.mutable_node()) {
    for (std::string& output : *node.mutable_output()) rename(output);
  }
  rename_reads(body, names);
}

void drop_remarks(GraphProto& graph) {
  graph.clear_doc_string();
  graph.clear_metadata_props();
  graph.clear_value_info();
  graph.clear_quantization_annotation();
  for (auto* list : {graph.mutable_input(), graph.mutable_output()}) {
    for (auto& item : *list) item.clear_doc_string();
  }
  for (NodeProto& node : *graph.mutable_node()) {
    node.clear_doc_string();
    for (int i = node.metadata_props_size() - 1; i >= 0; --i) {
      if (!node.metadata_props(i).key().starts_with("sluice."))
        node.mutable_metadata_props()->DeleteSubrange(i, 1);
    }
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      attribute.clear_doc_string();
      if (attribute.has_g()) drop_remarks(*attribute.mutable_g());
      for (GraphProto& body : *attribute.mutable_graphs()) drop_remarks(body);
    }
  }
}

}  // namespace

std::optional<NodeCut> with_nodes(const ModelProto& model, const GraphPath& path,
                                  const std::vector<int>& nodes, const Types& types) {
  const GraphProto& whole = graph_at(model, path);
  std::vector<bool> keep(static_cast<size_t>(whole.node_size()), false);
  for (const int node : nodes) keep[static_cast<size_t>(node)] = true;
  std::set<std::string> reads = reads_of_kept(whole, keep);
  if (!path.empty()) {  // a body keeps its outputs
    for (const auto& output : whole.output()) reads.insert(output.name());
  }
  keep_untyped(whole, types, keep, reads);
  NodeCut cut{model, {}};
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i]) cut.kept.push_back(static_cast<int>(i));
  }
  if (cut.kept.size() == keep.size() || (cut.kept.empty() && path.empty())) return std::nullopt;
  GraphProto& graph = graph_at(cut.model, path);
  erase_nodes(graph, keep);
  if (path.empty()) choose_outputs(whole, keep, reads, types, graph);
  for (int i = 0; i < whole.node_size(); ++i) {
    if (keep[static_cast<size_t>(i)]) continue;
    for (const std::string& name : whole.node(i).output()) {
      if (reads.contains(name) && !add_input(cut.model, name, types)) return std::nullopt;
    }
  }
  drop_unread(cut.model);
  return cut;
}

std::optional<ModelProto> with_outputs(const ModelProto& model, const std::vector<int>& outputs) {
  ModelProto cut = model;
  cut.mutable_graph()->clear_output();
  for (const int output : outputs)
    *cut.mutable_graph()->add_output() = model.graph().output(output);
  drop_dead(*cut.mutable_graph());
  drop_unread(cut);
  if (cut.graph().output_size() == 0) return std::nullopt;
  return cut;
}

std::optional<ModelProto> bypassed(const ModelProto& model, const GraphPath& path, int index,
                                   int input, const Types& types) {
  const NodeProto& node = graph_at(model, path).node(index);
  const std::string& operand = node.input(input);
  if (operand.empty() || node.output_size() == 0 || !same_type(types, node.output(0), operand))
    return std::nullopt;
  ModelProto cut = model;
  GraphProto& graph = graph_at(cut, path);
  graph.mutable_node()->DeleteSubrange(index, 1);
  rename_reads(graph, {{node.output(0), operand}});
  if (path.empty()) tidy_outputs(graph);
  if (path.empty() && graph.output_size() == 0) return std::nullopt;
  drop_unread(cut);
  return cut;
}

std::optional<ModelProto> inlined(const ModelProto& model, const GraphPath& path,
                                  const BodyStep& step, const Types& types) {
  const NodeProto& node = graph_at(model, path).node(step.node);
  GraphPath inner = path;
  inner.push_back(step);
  GraphProto body = graph_at(model, inner);
  const BodyPorts ports = ports_of(node, body);
  make_names_unique(model, body, "inlined_" + body.name() + "_");
  // Names to read instead: for inputs of the body, and for outputs of the node.
  std::map<std::string, std::string> inputs, outputs;
  for (const auto& [from, to] : ports.inputs) inputs[body.input(from).name()] = node.input(to);
  rename_reads(body, inputs);
  for (const auto& [from, to] : ports.outputs) outputs[node.output(to)] = body.output(from).name();
  std::vector<std::string> made_inside;
  for (const NodeProto& moved : body.node())
    made_inside.insert(made_inside.end(), moved.output().begin(), moved.output().end());
  ModelProto cut = model;
  Types known = types;
  for (const auto& input : body.input()) {
    if (input.type().value_case() != onnx::TypeProto::VALUE_NOT_SET)
      known.emplace(input.name(), input.type());
  }
  GraphProto& graph = graph_at(cut, path);
  GraphProto joined;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (i != step.node) {
      joined.add_node()->Swap(graph.mutable_node(i));
    } else {
      for (NodeProto& moved : *body.mutable_node()) joined.add_node()->Swap(&moved);
    }
  }
  graph.mutable_node()->Swap(joined.mutable_node());
  for (auto& tensor : *body.mutable_initializer()) graph.add_initializer()->Swap(&tensor);
  rename_reads(graph, outputs);
  std::set<std::string> reads;
  for (const NodeProto& other : graph.node()) reads.merge(reads_of(other));
  for (const auto& output : graph.output()) reads.insert(output.name());
  if (path.empty()) {
    for (const std::string& name : made_inside) {
      if (!name.empty() && !reads.contains(name)) add_output(graph, name, types);
    }
    tidy_outputs(graph);
    if (graph.output_size() == 0) return std::nullopt;
  }
  for (const auto& input : body.input()) {
    if (!inputs.contains(input.name()) && reads.contains(input.name()) &&
        !add_input(cut, input.name(), known))
      return std::nullopt;
  }
  for (const std::string& name : node.output()) {
    if (!outputs.contains(name) && reads.contains(name) && !add_input(cut, name, types))
      return std::nullopt;
  }
  drop_unread(cut);
  return cut;
}

ModelProto without_remarks(const ModelProto& model) {
  ModelProto cut = model;
  cut.clear_doc_string();
  cut.clear_metadata_props();
  cut.clear_training_info();
  drop_remarks(*cut.mutable_graph());
  drop_unread(cut);
  return cut;
}

}  // namespace sluice
