#include "orchestrator/bisect/find_node.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "common/base/spelling.h"
#include "orchestrator/bisect/child.h"
#include "orchestrator/bisect/json_members.h"

namespace sluice {
namespace {

// By the name of a value as sluice-show spells it.
using NodesByValue = std::map<std::string, const Json*, std::less<>>;

// Bodies come after the graphs that have them, and may give a value of the same name: it is the
// node of the body that makes it. Constant expressions make no values of the graph.
NodesByValue nodes_by_value(const Json& module) {
  NodesByValue nodes;
  for (const Json& graph : list_in(module, "graphs")) {
    if (text_in(graph, "role") == "expression") continue;
    for (const Json& node : list_in(graph, "nodes"))
      for (const Json& value : list_in(node, "outputs"))
        nodes.insert_or_assign(text_in(value, "name"), &node);
  }
  return nodes;
}

// "4.17" is value 17 of graph 4.
bool has_name(std::string_view name) {
  return name.find_first_not_of("0123456789.") != std::string_view::npos;
}

FoundNode node_from(const Json& node, const std::string& value) {
  FoundNode found{.name = text_in(node, "name"), .op = text_in(node, "op"), .origins = {}};
  if (found.name.empty()) found.name = value;
  for (const Json& origin : list_in(node, "from"))
    if (const std::string* name = origin.as_string()) found.origins.push_back(*name);
  return found;
}

}  // namespace

Result<std::optional<std::pair<Json, FoundNode>>> find_node(const std::string& graph,
                                                            const std::vector<Json>& values) {
  std::optional<std::pair<Json, FoundNode>> found;
  SLUICE_ASSIGN(const ChildResult shown, run_child("show", {"--format=json", graph}));
  if (shown.error) return found;  // what is known of the values is said without it
  SLUICE_ASSIGN(const Json module, json_parse(shown.output));
  const NodesByValue nodes = nodes_by_value(module);
  for (const Json& value : values) {
    const std::string name = text_in(value, "name");
    const auto node = nodes.find(text::spelled('%', name));
    if (!has_name(name) || node == nodes.end()) continue;
    found.emplace(value, node_from(*node->second, name));
    break;
  }
  return found;
}

}  // namespace sluice
