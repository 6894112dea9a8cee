// Which operators of a model this release knows.
#pragma once

#include <optional>

#include "common/base/result.h"
#include "common/ir/op.h"
#include "onnx.pb.h"

namespace sluice {

// Domains "" and "ai.onnx" name ONNX's operators, "sluice" ours; "ai.onnx.preview" has FlexAttention;
// others have none. Constant is none: it becomes a constant.
std::optional<Op> find_operator(const onnx::NodeProto& node);
bool is_constant_node(const onnx::NodeProto& node);

// Everything that is not supported in one error (kUnsupportedOp): for each operator its type, domain, count and first nodes.
Result<void> check_operators(const onnx::GraphProto& graph);

}  // namespace sluice
