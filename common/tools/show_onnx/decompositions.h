// Functions of an ONNX model for nodes that no operator of ONNX computes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/ir/graph.h"
#include "common/text/names.h"
#include "onnx.pb.h"

namespace sluice {

// Returns true for an op, or a form of one, that is written as a call of a function.
bool is_decomposed(const Node& node);
// Returns true for an Attention of plainer nodes: no operator of ONNX is in its function.
bool is_plain_attention(const Node& node);
// Returns the reason why a decomposed node has no function after all; empty when it has one.
std::string undecomposed_reason(const Node& node);

// The functions of a model; equal ones are one.
class Decompositions {
 public:
  // Writes the operator and the inputs of a node that is decomposed: a call of its function.
  // Returns the indices of the operands that the function reads.
  std::vector<size_t> write_call(const Node& node, onnx::NodeProto& proto);
  // Without domain and operator sets.
  const std::vector<onnx::FunctionProto>& functions() const { return functions_; }

 private:
  std::vector<onnx::FunctionProto> functions_;
  std::map<std::string, std::string> names_;  // by the bytes of a function without name
  text::UniqueNames unique_;
};

onnx::FunctionProto attention_function(const Node& node);
onnx::FunctionProto interleave_function(const Node& node);

}  // namespace sluice
