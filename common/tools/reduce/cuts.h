// Makes smaller models of a model; the caller checks whether they still fail. Functions return
// nothing when there is no such model.
#pragma once

#include <optional>

#include "common/tools/reduce/model.h"

namespace sluice {

struct NodeCut {
  onnx::ModelProto model;
  // The requested nodes, and those whose results have no known type, in order.
  std::vector<int> kept;
};

// Returns the model with only these nodes of one graph. Results of the others that are still read
// become inputs of the model; results that only the others read become outputs.
std::optional<NodeCut> with_nodes(const onnx::ModelProto& model, const GraphPath& path,
                                  const std::vector<int>& nodes, const Types& types);
// Returns the model with these outputs only, and the nodes they need.
std::optional<onnx::ModelProto> with_outputs(const onnx::ModelProto& model,
                                             const std::vector<int>& outputs);
// Returns the model without a node whose single used result has the type of this input; readers of
// the result read the input instead.
std::optional<onnx::ModelProto> bypassed(const onnx::ModelProto& model, const GraphPath& path,
                                         int node, int input, const Types& types);
// Returns the model with the nodes of one body in place of the node. Values that the node would
// have created (a loop's counter, slices) become inputs of the model.
std::optional<onnx::ModelProto> inlined(const onnx::ModelProto& model, const GraphPath& path,
                                        const BodyStep& body, const Types& types);

// Returns the model without documentation, metadata that Sluice does not use, declared types of
// inner values, and training.
onnx::ModelProto without_remarks(const onnx::ModelProto& model);

}  // namespace sluice
