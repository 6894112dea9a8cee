// Imports one graph of a model, bodies below it included.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/ops/infer.h"
#include "stages/preprocess/onnx/annotation_rules.h"
#include "stages/preprocess/onnx/constants.h"
#include "stages/preprocess/onnx/functions.h"
#include "stages/preprocess/onnx/upgrade.h"

namespace sluice {

struct ExpandRow;

// The state that the importers of all graphs of one model share.
struct ModelImport {
  Module& module;
  Constants& constants;
  AnnotationRules& rules;
  NodeOpsets opsets;  // of nodes that came from functions
  int64_t opset = 0;  // of the other nodes
  bool needs_ranks = false;
  std::string states = {};  // the value of --state
  size_t node_index = 0;    // of nodes without name

  int64_t opset_of(const onnx::NodeProto& node) const {
    const auto found = opsets.find(&node);
    return found == opsets.end() ? opset : found->second;
  }
};

class GraphImport {
 public:
  GraphImport(ModelImport& model, Graph& graph, GraphImport* outer)
      : model_(model), graph_(graph), outer_(outer), facts_(graph) {}

  // Imports the graph. Its inputs must have been added before, by define().
  Result<void> run(const onnx::GraphProto& proto);
  Result<void> define(const std::string& name, Value& value);
  // Returns the number of graphs that this one is nested in.
  int depth() const { return outer_ == nullptr ? 0 : outer_->depth() + 1; }
  // Declares that the input stands for the initializer of that name, and its type for the
  // initializer's (overridable.h).
  void declare_overridable(const std::string& name, Value& input) { overridable_[name] = &input; }

 private:
  struct Body {
    GraphImport* import;
    std::string attribute;
    bool in_list;  // of an attribute that contains several graphs
  };
  using Imports = std::vector<std::unique_ptr<GraphImport>>;
  using Capture = std::pair<Value*, Value*>;  // the outer value, the input that stands for it here

  Result<Value*> find(const std::string& name);  // null: not defined
  Result<Value*> capture(const std::string& name, Value& outer);
  Result<void> define_initializer(const std::string& name, SegmentId segment);
  Result<void> add_initializers(const onnx::GraphProto& proto);
  Result<void> add_constant_node(const onnx::NodeProto& node);
  Result<SegmentId> constant_segment(const onnx::NodeProto& node);
  Result<std::vector<Value*>> inputs_of(const onnx::NodeProto& proto);
  Result<void> add_node(const onnx::NodeProto& proto);
  Result<void> add_foreign_node(const onnx::NodeProto& proto);
  Result<void> add_expanded_node(const onnx::NodeProto& proto, const ExpandRow& row);
  Result<void> set_attributes(const onnx::NodeProto& proto, Node& node);
  Result<void> add_bodies(const onnx::NodeProto& proto, Node& node);
  Result<GraphId> add_body(const Node& node, const onnx::GraphProto& body, const std::string& name,
                           Imports& imports);
  Result<void> import_body(const Node& node, const onnx::GraphProto& body, const std::string& name,
                           Imports& imports);
  Result<void> define_constant(const std::string& name, SegmentId segment, const std::string& who);
  Result<void> infer(Node& node);
  Result<void> name_results(const onnx::NodeProto& proto, const std::vector<Value*>& results);
  Result<void> finish_nodes(const onnx::NodeProto& proto, Node* before, const Node* named);
  Result<Placement> placement_of(const onnx::NodeProto& proto);

  ModelImport& model_;
  Graph& graph_;
  GraphImport* outer_;
  ValueFacts facts_;
  std::unordered_map<std::string, Value*> names_;
  std::unordered_map<std::string, Value*> overridable_;
  std::vector<Capture> captures_;
  // The first error of inference in this body, which the passes may judge differently.
  std::optional<Error> failure_;
};

}  // namespace sluice
