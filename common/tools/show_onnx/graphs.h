// Converts graphs to ONNX: the model's own, bodies of control flow, and functions.
#pragma once

#include "common/tools/show_onnx/constants.h"
#include "common/tools/show_onnx/nodes.h"

namespace sluice {

class GraphsWriter {
 public:
  // tables: those of a model that runs; null: the model is for looking.
  GraphsWriter(const Module& module, int opset, const Tables* tables = nullptr);

  void write_model_graph(const Graph& graph, onnx::GraphProto& proto);
  void write_function(const Graph& graph, onnx::FunctionProto& proto);
  // Returns true when Calls and Fused nodes name the graph, so that it is exported as a function.
  static bool is_function(const Graph& graph);

  // The functions and the constants of a model that runs.
  const Decompositions& decompositions() const { return decompositions_; }
  const ConstantsWriter& constants() const { return constants_; }

 private:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
  using ValueTypes = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;

  void write_body(const Graph& body, const Node& node, OnnxScope& scope, onnx::GraphProto& proto);
  void write_inside(const Graph& graph, OnnxScope& scope, onnx::GraphProto& proto);
  void name_outputs(const Graph& graph, OnnxScope& scope) const;
  void write_constant(const Value& value, OnnxScope& scope, onnx::GraphProto& proto);
  void name_constant(const Value& value, OnnxScope& scope, Nodes& nodes);
  void write_nodes(const Graph& graph, OnnxScope& scope, Nodes& nodes, ValueTypes& types) const;
  void write_value(const Value& value, const std::string& name, onnx::ValueInfoProto& proto) const;
  std::string output_name(const Value& output, bool as_it_is, OnnxScope& scope, Nodes& nodes) const;

  const Module& module_;
  Decompositions decompositions_;
  NodeWriter nodes_;
  ConstantsWriter constants_;
  std::vector<std::string> functions_;  // by graph
};

}  // namespace sluice
