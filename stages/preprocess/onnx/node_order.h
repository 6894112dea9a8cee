// The order in which a graph's nodes can be built.
#pragma once

#include <vector>

#include "common/base/result.h"
#include "onnx.pb.h"

namespace sluice {

// Returns producers first, otherwise in the order of the file; bodies count as readers of what they
// capture. Linear when the file is sorted already, as the standard demands. A value defined twice
// and a cycle are kBadModel naming values and nodes.
Result<std::vector<const onnx::NodeProto*>> order_nodes(const onnx::GraphProto& graph);

// Returns "node 'conv1' (Conv)"; a node without name is named by its first output.
std::string node_label(const onnx::NodeProto& node);

}  // namespace sluice
