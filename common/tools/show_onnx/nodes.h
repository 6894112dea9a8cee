// Nodes of a graph as those of ONNX.
#pragma once

#include <functional>
#include <string>

#include "common/tools/show_onnx/scope.h"
#include "onnx.pb.h"

namespace sluice {

// Domains of an exported model: of operators that ONNX has not, and of the graphs that nodes call.
inline constexpr std::string_view kSluiceDomain = "sluice";
inline constexpr std::string_view kFunctionDomain = "sluice.graphs";
inline constexpr std::string_view kPreviewDomain = "ai.onnx.preview";

struct NodeWriter {
  const Module& module;
  int opset;
  // The function that stands for a graph that a Call or a Fused node names; empty: none does.
  std::function<std::string(GraphId)> function_of;
  // Writes the body of a control-flow node, whose captures are these operands of the node.
  std::function<void(const Graph& body, const Node& node, OnnxScope& scope, onnx::GraphProto&)>
      write_body;

  // A node whose operands have names in the scope; defines those of its results. Where a node is
  // placed, its kernel and its origins are its metadata.
  void write(const Node& node, OnnxScope& scope, onnx::NodeProto& proto) const;

 private:
  void write_operator(const Node& node, onnx::NodeProto& proto) const;
  void write_operands(const Node& node, OnnxScope& scope, onnx::NodeProto& proto) const;
  void write_attributes(const Node& node, OnnxScope& scope, onnx::NodeProto& proto) const;
  void write_attribute(const AttributeValue& value, const Node& node, OnnxScope& scope,
                       onnx::AttributeProto& proto) const;
  bool is_left_out(const Node& node, std::string_view attribute) const;
  void write_metadata(const Node& node, const OnnxScope& scope, onnx::NodeProto& proto) const;
};

// Appends an entry; nothing when the value is empty. Keys "sluice.…" would be annotations to
// whoever imports the model (docs/annotations.md).
template <typename Entries>
void add_entry(Entries& entries, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  auto& entry = *entries.Add();
  entry.set_key("sluice:" + std::string(key));
  entry.set_value(utf8_text(value));
}

}  // namespace sluice
