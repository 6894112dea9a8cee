// Attributes that an operator does not have: exporters leave their own behind, which ONNX Runtime
// ignores.
#pragma once

#include <string>
#include <string_view>

#include "common/base/warnings.h"
#include "common/ir/graph.h"
#include "onnx.pb.h"

namespace sluice {

bool knows_attribute(Op op, std::string_view name);
std::string unknown_attribute_text(const onnx::NodeProto& node, std::string_view attribute);

// Removes them from a node in today's form, with a warning each. One that another opset's form has
// stays, because its meaning would be lost: check_signature rejects it.
void drop_unknown_attributes(const onnx::NodeProto& proto, Node& node, Warnings& warnings);

}  // namespace sluice
