// Smaller models made of a model; whether they still fail is for the caller to find out. Nothing:
// there is no such model.
#pragma once

#include <optional>

#include "common/tools/reduce/model.h"

namespace sluice {

struct NodeCut {
  onnx::ModelProto model;
  std::vector<int> kept;  // those asked for, and whose results have no known type, in order
};

// The model with these nodes of one graph only. Results of the others that are still read become
// inputs of the model; results that only the others read become outputs.
std::optional<NodeCut> with_nodes(const onnx::ModelProto& model, const GraphPath& path,
                                  const std::vector<int>& nodes, const Types& types);
// With these outputs only, and what they need.
std::optional<onnx::ModelProto> with_outputs(const onnx::ModelProto& model,
                                             const std::vector<int>& outputs);
// Without a node whose only result that is read has the type of this input of it, which is read
// instead.
std::optional<onnx::ModelProto> bypassed(const onnx::ModelProto& model, const GraphPath& path,
                                         int node, int input, const Types& types);
// With the nodes of one body in place of the node. What the node would have given them anew (a
// loop's counter, slices) becomes an input of the model.
std::optional<onnx::ModelProto> inlined(const onnx::ModelProto& model, const GraphPath& path,
                                        const BodyStep& body, const Types& types);

// Without documentation, metadata that means nothing to us, declared types inside and training.
onnx::ModelProto without_remarks(const onnx::ModelProto& model);

}  // namespace sluice
