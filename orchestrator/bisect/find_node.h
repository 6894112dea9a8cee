// Finds the node that makes a value, in what sluice-show prints of a graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/json.h"
#include "common/base/result.h"

namespace sluice {

struct FoundNode {
  std::string name;  // that of its first result for a node without one
  std::string op;
  std::vector<std::string> origins;  // nodes of the model
};

// Returns the first of the values, given as differences of values, that a node of the graph or of
// its bodies makes, and that node. Values without a name are passed over, since theirs are numbers,
// which other graphs give to other values.
Result<std::optional<std::pair<Json, FoundNode>>> find_node(const std::string& graph,
                                                            const std::vector<Json>& values);

}  // namespace sluice
