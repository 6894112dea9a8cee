// The names in a compiled model, which are in messages of their own: opening a model does not read
// them. Numbers without a name have an empty one; sluice-verify checks that all have one.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "model.pb.h"

namespace sluice {

// The names of the nodes of a model. The constructor reads them all, O(nodes).
class NodeNames {
 public:
  explicit NodeNames(const pb::ModelDef& model) {
    valid_ = def_.ParseFromString(model.node_names());
  }

  const std::string& operator[](uint32_t node) const {
    return node < static_cast<uint32_t>(def_.name_size()) ? def_.name(static_cast<int>(node))
                                                          : none_;
  }
  // Returns the user's ONNX nodes that a node came from.
  std::vector<std::string> origins(uint32_t node) const {
    if (node >= static_cast<uint32_t>(def_.origins_size())) return {};
    const auto& names = def_.origins(static_cast<int>(node)).onnx_nodes();
    return {names.begin(), names.end()};
  }
  // Calls visit(name, node) for every value that exists only while the kernel of a node computes.
  template <typename Visit>
  void for_each_fused(Visit&& visit) const {
    for (int i = 0; i < std::min(def_.fused_value_size(), def_.fused_into_size()); ++i)
      visit(def_.fused_value(i), def_.fused_into(i));
  }
  // Returns whether each node has a name, each or none has origins, and each fused value a node.
  bool complete(uint32_t nodes) const {
    const auto origins = static_cast<uint32_t>(def_.origins_size());
    return valid_ && static_cast<uint32_t>(def_.name_size()) == nodes &&
           (origins == nodes || origins == 0) &&
           def_.fused_value_size() == def_.fused_into_size() &&
           std::all_of(def_.fused_into().begin(), def_.fused_into().end(),
                       [&](uint32_t node) { return node < nodes; });
  }

 private:
  pb::NodeNamesDef def_;
  std::string none_;
  bool valid_ = false;
};

// Returns "node 'conv1' (Conv)", for messages; without the op where the model does not say it.
std::string node_text(const pb::ModelDef& model, uint32_t node);
std::string node_text(const pb::ModelDef& model, const NodeNames& names, uint32_t node);

// Returns the node that makes a value of a part, as node_text writes it; empty for a value that no
// task makes.
std::string maker_text(const pb::ModelDef& model, const pb::FixedPart& part, int value);
// Returns the node that makes the largest value of the part's arena.
std::string maker_of_largest(const pb::ModelDef& model, const pb::FixedPart& part);

// The names of the values of a part.
class ValueNames {
 public:
  explicit ValueNames(const pb::FixedPart& part) {
    valid_ = def_.ParseFromString(part.value_names());
  }

  const std::string& operator[](uint32_t value) const {
    return value < static_cast<uint32_t>(def_.name_size()) ? def_.name(static_cast<int>(value))
                                                           : none_;
  }
  bool complete(uint32_t values) const {
    return valid_ && static_cast<uint32_t>(def_.name_size()) == values;
  }

 private:
  pb::ValueNamesDef def_;
  std::string none_;
  bool valid_ = false;
};

}  // namespace sluice
