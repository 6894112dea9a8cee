// Decides which operators of a model this release knows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/op.h"
#include "onnx.pb.h"
#include "stages/preprocess/onnx/expand_row.h"

namespace sluice {

// Domains "" and "ai.onnx" name ONNX's operators, "sluice" ours; "ai.onnx.preview" has
// FlexAttention; no other domain has any. Constant is not an operator: it becomes a constant.
std::optional<Op> find_operator(const onnx::NodeProto& node);
bool is_constant_node(const onnx::NodeProto& node);

// Returns the row by which an operator of com.microsoft or ai.onnx.ml, or an experimental one of
// ONNX's first releases, is replaced; null for all others.
const ExpandRow* find_expansion(const onnx::NodeProto& node);
// Returns whether such nodes are in the graph or in bodies below it. Some forms are distinguished
// by dtypes and ranks, so types are then inferred while importing.
bool has_expansions(const onnx::GraphProto& graph);

// Reports all unsupported operators in one error (kUnsupportedOp): for each operator its type,
// domain, count and first nodes.
// Those that rules of users replace, by "DOMAIN::NAME", are no error.
Result<void> check_operators(const onnx::GraphProto& graph,
                             const std::vector<std::string>& foreign);

// Returns "com.acme::Gelu" for an operator that this release does not know.
std::string foreign_name(const onnx::NodeProto& node);

}  // namespace sluice
