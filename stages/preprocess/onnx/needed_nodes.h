// Nodes that --out-nodes drops are not imported: they may be operators that this release does not
// know.
#pragma once

#include <string>
#include <vector>

#include "onnx.pb.h"

namespace sluice {

// Removes from `graph` the nodes that none of the items needs, a value's name or NODE:RESULT each,
// and the outputs that they produced. Where an item is not found everything stays: the pass
// select-outputs reports the error.
void keep_needed_nodes(onnx::GraphProto& graph, const std::vector<std::string>& items);

}  // namespace sluice
