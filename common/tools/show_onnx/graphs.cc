#include "common/tools/show_onnx/graphs.h"

#include <algorithm>
#include <set>

#include "common/ir/module.h"
#include "common/text/printer.h"
#include "common/tools/show_onnx/values.h"

namespace sluice {
namespace {

constexpr size_t kNamedOps = 4;

// Returns the label of a fused body in a picture: the operators in it, "Conv_Add_Relu".
std::string ops_text(const Graph& graph) {
  std::string text;
  size_t count = 0;
  for (const Node& node : graph.nodes()) {
    if (count++ == kNamedOps) return text + "_and_more";
    text += (text.empty() ? "" : "_") + std::string(op_name(node.op()));
  }
  return text.empty() ? "Nothing" : text;
}

std::vector<std::string> function_names(const Module& module) {
  std::vector<std::string> names(static_cast<size_t>(module.graph_limit()));
  text::UniqueNames unique;
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id) || !GraphsWriter::is_function(module.graph(id))) continue;
    const Graph& graph = module.graph(id);
    const bool has_own = graph.role != GraphRole::kFused && !graph.name().empty();
    names[static_cast<size_t>(id)] =
        unique.add(has_own ? utf8_text(graph.name()) : ops_text(graph));
  }
  return names;
}

}  // namespace

GraphsWriter::GraphsWriter(const Module& module, int opset, const Tables* tables)
    : module_(module),
      nodes_{module, opset, {}, {}, tables, &decompositions_},
      constants_(module, nodes_),
      functions_(function_names(module)) {
  nodes_.function_of = [this](GraphId id) {
    return module_.has_graph(id) ? functions_[static_cast<size_t>(id)] : "";
  };
  nodes_.write_body = [this](const Graph& body, const Node& node, OnnxScope& scope,
                             onnx::GraphProto& proto) { write_body(body, node, scope, proto); };
}

bool GraphsWriter::is_function(const Graph& graph) {
  const bool is_called = graph.role == GraphRole::kFused || graph.role == GraphRole::kPart ||
                         graph.role == GraphRole::kSubgraph;
  return is_called && graph.owner() != nullptr;
}

void GraphsWriter::write_model_graph(const Graph& graph, onnx::GraphProto& proto) {
  OnnxScope scope;
  const std::string name = utf8_text(graph.name());
  proto.set_name(name.empty() ? "main" : name);
  for (const Value* input : graph.inputs())
    write_value(*input, scope.define(*input), *proto.add_input());
  if (nodes_.runs()) name_outputs(graph, scope);
  write_inside(graph, scope, proto);
  std::set<const Value*> seen;
  for (const Value* output : graph.outputs()) {
    const bool is_first = seen.insert(output).second;
    const std::string given = output_name(*output, is_first, scope, *proto.mutable_node());
    write_value(*output, given, *proto.add_output());
  }
}

// Outputs keep their names, whatever else has the same.
void GraphsWriter::name_outputs(const Graph& graph, OnnxScope& scope) const {
  for (const Value* output : graph.outputs()) scope.define(*output);
}

// The body uses the scope's names: a captured value has the same name inside.
void GraphsWriter::write_body(const Graph& body, const Node& node, OnnxScope& scope,
                              onnx::GraphProto& proto) {
  const size_t captures =
      std::min<size_t>(body.captures, std::min(body.inputs().size(), node.input_count()));
  const size_t own = body.inputs().size() - captures;
  proto.set_name(body.name().empty() ? "body" : utf8_text(body.name()));
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    const Value& input = *body.inputs()[i];
    if (i < own) {
      write_value(input, scope.define(input), *proto.add_input());
    } else if (const Value* outer = node.input(node.input_count() - captures + i - own)) {
      scope.alias(input, *outer);
    }
  }
  write_inside(body, scope, proto);
  std::set<const Value*> seen;
  for (const Value* output : body.outputs()) {
    const bool is_result = output->producer() != nullptr && seen.insert(output).second;
    const std::string name = output_name(*output, is_result, scope, *proto.mutable_node());
    write_value(*output, name, *proto.add_output());
  }
}

void GraphsWriter::write_inside(const Graph& graph, OnnxScope& scope, onnx::GraphProto& proto) {
  for (const Value& value : graph.values()) {
    if (text::is_shown_constant(value)) write_constant(value, scope, proto);
  }
  write_nodes(graph, scope, *proto.mutable_node(), *proto.mutable_value_info());
}

void GraphsWriter::write_constant(const Value& value, OnnxScope& scope, onnx::GraphProto& proto) {
  if (nodes_.runs()) return name_constant(value, scope, *proto.mutable_node());
  const Segment& segment = module_.segment(value.segment());
  const std::string& name = scope.define(value);
  if (is_inline_constant(segment)) {
    onnx::TensorProto& tensor = *proto.add_initializer();
    write_tensor(module_, segment, tensor);
    return tensor.set_name(name);
  }
  onnx::NodeProto& node = *proto.add_node();
  write_constant_node(module_, segment, name, node);
  node.add_output(name);
  write_value(value, name, *proto.add_value_info());
}

// A constant that is an output has its name there, and is a copy of the constant.
void GraphsWriter::name_constant(const Value& value, OnnxScope& scope, Nodes& nodes) {
  const std::string& name = constants_.name_of(value, scope);
  const std::string& output = scope.name(&value);
  if (output.empty()) return scope.name_as(value, name);
  onnx::NodeProto& copy = *nodes.Add();
  copy.set_op_type("Identity");
  copy.add_input(name);
  copy.add_output(output);
}

void GraphsWriter::write_nodes(const Graph& graph, OnnxScope& scope, Nodes& nodes,
                               ValueTypes& types) const {
  for (const Node& node : graph.nodes()) {
    nodes_.write(node, scope, *nodes.Add());
    for (size_t i = 0; i < node.output_count(); ++i) {
      const Value& result = node.output(i);
      // Outputs have their types where they are listed.
      const bool is_typed = nodes_.runs() || (result.is_output() && !is_function(graph));
      if (!is_typed) write_value(result, scope.name(&result), *types.Add());
    }
  }
}

void GraphsWriter::write_value(const Value& value, const std::string& name,
                               onnx::ValueInfoProto& proto) const {
  proto.set_name(name);
  onnx::TypeProto type;
  if (write_type(module_, value.type_id(), type)) *proto.mutable_type() = std::move(type);
  if (!nodes_.runs() && value.storage() != nullptr) {
    add_entry(*proto.mutable_metadata_props(), "storage",
              text::print_storage(module_, *value.storage()));
  }
}

// Outputs of bodies and functions must be results of nodes in them, each once.
std::string GraphsWriter::output_name(const Value& output, bool as_it_is, OnnxScope& scope,
                                      Nodes& nodes) const {
  const std::string& name = scope.name(&output);
  if (as_it_is) return name;
  onnx::NodeProto& copy = *nodes.Add();
  copy.set_op_type("Identity");
  copy.add_input(name);
  copy.add_output(scope.fresh(name));
  return copy.output(0);
}

void GraphsWriter::write_function(const Graph& graph, onnx::FunctionProto& proto) {
  OnnxScope scope;
  proto.set_name(functions_[static_cast<size_t>(graph.id())]);
  proto.set_domain(std::string(kFunctionDomain));
  for (const Value* input : graph.inputs()) {
    proto.add_input(scope.define(*input));
    write_value(*input, proto.input(proto.input_size() - 1), *proto.add_value_info());
  }
  for (const Value& value : graph.values()) {
    if (!text::is_shown_constant(value)) continue;
    onnx::NodeProto& node = *proto.add_node();
    write_constant_node(module_, module_.segment(value.segment()), scope.define(value), node);
    node.add_output(scope.name(&value));
  }
  write_nodes(graph, scope, *proto.mutable_node(), *proto.mutable_value_info());
  std::set<const Value*> seen;
  for (const Value* output : graph.outputs()) {
    const bool is_result = output->producer() != nullptr && seen.insert(output).second;
    proto.add_output(output_name(*output, is_result, scope, *proto.mutable_node()));
  }
  auto& entries = *proto.mutable_metadata_props();
  add_entry(entries, "graph", graph.name());
  if (graph.engine != EngineId::kNone) add_entry(entries, "engine", engine_name(graph.engine));
  add_entry(entries, "shapes", shape_class_name(graph.shapes));
}

}  // namespace sluice
