// The names in a compiled model, which lie in messages of their own: opening a model does not read
// them. Numbers that have no name give an empty one; sluice-verify asks whether all have.
#pragma once

#include <string>
#include <vector>

#include "model.pb.h"

namespace sluice {

// Of the nodes of a model. Making one reads them all, O(nodes).
class NodeNames {
 public:
  explicit NodeNames(const pb::ModelDef& model) {
    valid_ = def_.ParseFromString(model.node_names());
  }

  const std::string& operator[](uint32_t node) const {
    return node < static_cast<uint32_t>(def_.name_size()) ? def_.name(static_cast<int>(node))
                                                          : none_;
  }
  // The user's ONNX nodes that a node came from.
  std::vector<std::string> origins(uint32_t node) const {
    if (node >= static_cast<uint32_t>(def_.origins_size())) return {};
    const auto& names = def_.origins(static_cast<int>(node)).onnx_nodes();
    return {names.begin(), names.end()};
  }
  // A name for each node; origins for each, or for none.
  bool complete(uint32_t nodes) const {
    const auto origins = static_cast<uint32_t>(def_.origins_size());
    return valid_ && static_cast<uint32_t>(def_.name_size()) == nodes &&
           (origins == nodes || origins == 0);
  }

 private:
  pb::NodeNamesDef def_;
  std::string none_;
  bool valid_ = false;
};

// "node 'conv1'", for messages.
inline std::string node_text(const pb::ModelDef& model, uint32_t node) {
  return "node '" + NodeNames(model)[node] + "'";
}

// The node that makes a value of a part, as node_text has it; empty for what no task makes.
std::string maker_text(const pb::ModelDef& model, const pb::FixedPart& part, int value);
// The node that makes the largest value of the part's arena.
std::string maker_of_largest(const pb::ModelDef& model, const pb::FixedPart& part);

// Of the values of a part; the same.
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
