// Converts graphs to ONNX: the model's own, bodies of control flow, and functions.
#pragma once

#include "common/tools/show_onnx/nodes.h"

namespace sluice {

class GraphsWriter {
 public:
  GraphsWriter(const Module& module, int opset);

  void write_model_graph(const Graph& graph, onnx::GraphProto& proto);
  void write_function(const Graph& graph, onnx::FunctionProto& proto);
  // Returns true when Calls and Fused nodes name the graph, so that it is exported as a function.
  static bool is_function(const Graph& graph);

 private:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
  using ValueTypes = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;

  void write_body(const Graph& body, const Node& node, OnnxScope& scope, onnx::GraphProto& proto);
  void write_inside(const Graph& graph, OnnxScope& scope, onnx::GraphProto& proto);
  void write_constant(const Value& value, OnnxScope& scope, onnx::GraphProto& proto) const;
  void write_nodes(const Graph& graph, OnnxScope& scope, Nodes& nodes, ValueTypes& types) const;
  void write_value(const Value& value, const std::string& name, onnx::ValueInfoProto& proto) const;
  std::string output_name(const Value& output, bool as_it_is, OnnxScope& scope, Nodes& nodes) const;

  const Module& module_;
  NodeWriter nodes_;
  std::vector<std::string> functions_;  // by graph
};

}  // namespace sluice
