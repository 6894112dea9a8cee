// Converts nodes of a graph to ONNX.
#pragma once

#include <functional>
#include <string>

#include "common/tools/show_onnx/decompositions.h"
#include "common/tools/show_onnx/scope.h"
#include "common/tools/show_onnx/tables.h"
#include "onnx.pb.h"

namespace sluice {

// Domains of an exported model: for operators that ONNX does not have, and for called graphs.
inline constexpr std::string_view kSluiceDomain = "sluice";
inline constexpr std::string_view kFunctionDomain = "sluice.graphs";
inline constexpr std::string_view kPreviewDomain = "ai.onnx.preview";
inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

// Returns domain and name of the operator that a Foreign node is.
std::pair<std::string, std::string> foreign_operator(const Node& node);

struct NodeWriter {
  const Module& module;
  int opset;
  // Returns the function for a graph that a Call or a Fused node names; empty when there is none.
  std::function<std::string(GraphId)> function_of;
  // Writes the body of a control-flow node, whose captures are these operands of the node.
  std::function<void(const Graph& body, const Node& node, OnnxScope& scope, onnx::GraphProto&)>
      write_body;
  // Those of a model that runs, whose nodes have no metadata and forms that all tools know; null:
  // the model is for looking.
  const Tables* tables = nullptr;
  Decompositions* decompositions = nullptr;  // of such a model
  bool runs() const { return tables != nullptr; }

  // Writes a node whose operands have names in the scope, and defines those of its results. The
  // metadata of the node contains its placement, kernel and origins.
  void write(const Node& node, OnnxScope& scope, onnx::NodeProto& proto) const;

 private:
  void write_operator(const Node& node, onnx::NodeProto& proto) const;
  void write_call(const Node& node, OnnxScope& scope, onnx::NodeProto& proto) const;
  void write_other_operator(const Node& node, onnx::NodeProto& proto) const;
  void write_operands(const Node& node, OnnxScope& scope, onnx::NodeProto& proto) const;
  void write_attributes(const Node& node, OnnxScope& scope, onnx::NodeProto& proto) const;
  void write_attribute(const AttributeValue& value, const Node& node, OnnxScope& scope,
                       onnx::AttributeProto& proto) const;
  bool is_left_out(const Node& node, std::string_view attribute) const;
  void write_metadata(const Node& node, const OnnxScope& scope, onnx::NodeProto& proto) const;
};

// Appends an entry unless the value is empty. Keys "sluice.…" would become annotations when the
// model is imported (docs/annotations.md).
template <typename Entries>
void add_entry(Entries& entries, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  auto& entry = *entries.Add();
  entry.set_key("sluice:" + std::string(key));
  entry.set_value(utf8_text(value));
}

}  // namespace sluice
