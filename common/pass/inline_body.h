// Puts the nodes of a body in the place of the node that has it.
#pragma once

#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Copies the nodes of a body of `node`, in order, before the node. The inputs of the body are the
// node's last ones, as those of the branches of an If are. Returns what the outputs of the body
// became; the caller lets them replace the results of the node, and erases it. Symbols that are
// read from values of the body stay with it.
std::vector<Value*> inline_body(Node& node, const Graph& body);

}  // namespace sluice
