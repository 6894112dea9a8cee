// Views of a graph other than its text.
#pragma once

#include <string>

#include "common/ir/module.h"

namespace sluice {

// Returns {"schema", "level", "last_stage", "options", "symbols", "graphs": [{"name", "role",
// "inputs", "outputs", "constants", "nodes"}]}; values and bodies by their names in the text.
std::string graph_json(const Module& module);
// Returns Graphviz text: a cluster for each graph, an edge for each operand, dashed for control
// edges.
std::string graph_dot(const Module& module);
// Returns lines for people: graphs by role, nodes by op and engine, constants by kind with their
// bytes, symbols.
std::string summary_text(const Module& module);

}  // namespace sluice
