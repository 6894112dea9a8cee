// A graph as an ONNX model, for viewers and checkers of ONNX.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Returns the bytes of a ModelProto: types of all values, small constants, and dtype and dims of
// large ones. The graphs of Calls and Fused nodes are functions of the model. Operators without
// form in ONNX are in the domain "sluice". Returns kLimit above 2 GiB, the maximum of an ONNX
// model.
Result<std::string> graph_onnx(const Module& module);

}  // namespace sluice
