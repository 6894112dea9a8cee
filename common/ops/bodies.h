// Inference through the bodies of If, Loop, Scan, SequenceMap, Call and Fused.
#pragma once

#include "common/ops/infer_call.h"

namespace sluice {

// The graph that an attribute names, when this node owns it and the nesting is not too deep.
Result<Graph*> find_body(InferCall& call, const BodyAttribute& attribute);

// The body has these numbers of inputs and outputs; negative: not checked.
Result<void> check_body(const InferCall& call, const Graph& body, int64_t inputs, int64_t outputs);

struct BodyInput {
  Type type;
  int64_t source = -1;  // the node's input that the body sees unchanged, for value facts; -1: none
};

// Infers a body for these inputs. What is known of its outputs' values goes to the node's outputs
// where `results` says so: outputs of the body are outputs of the node.
Result<void> infer_body(InferCall& call, Graph& body, std::span<const BodyInput> inputs,
                        bool results, bool& changed);

// Infers a body that runs again and again with some inputs coming from its outputs of the last
// time: inputs[first + i] from output first_output + i. Answers types of these that hold every
// time: the first type, with the dims that change from time to time unknown.
Result<std::vector<Type>> infer_repeated_body(InferCall& call, Graph& body,
                                              std::vector<BodyInput> inputs, size_t first,
                                              size_t first_output, size_t count);

}  // namespace sluice
