// Inference through the bodies of If, Loop, Scan, SequenceMap, Call and Fused.
#pragma once

#include "common/ops/infer_call.h"

namespace sluice {

// Returns the graph that an attribute names, when this node owns it and the nesting is not too
// deep.
Result<Graph*> find_body(InferCall& call, const BodyAttribute& attribute);

// Checks the body's numbers of inputs and outputs; a negative number is not checked.
Result<void> check_body(const InferCall& call, const Graph& body, int64_t inputs, int64_t outputs);

struct BodyInput {
  Type type;
  int64_t source = -1;  // the node's input that the body sees unchanged, for value facts; -1: none
};

// Infers a body for these inputs. When `results` is set, outputs of the body are outputs of the
// node, which get the known facts about their values.
Result<void> infer_body(InferCall& call, Graph& body, std::span<const BodyInput> inputs,
                        bool results, bool& changed);

// Infers a body that runs repeatedly with some inputs taken from its outputs of the previous
// iteration: inputs[first + i] from output first_output + i. Returns types of these inputs that are
// valid in every iteration: the first type, with the dims that change between iterations unknown.
Result<std::vector<Type>> infer_repeated_body(InferCall& call, Graph& body,
                                              std::vector<BodyInput> inputs, size_t first,
                                              size_t first_output, size_t count);

}  // namespace sluice
