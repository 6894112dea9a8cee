// A graph as an ONNX model, for viewers and checkers of ONNX.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// The bytes of a ModelProto: types of all values, small constants, of large ones dtype and dims.
// The graphs of Calls and Fused nodes are functions of the model. Operators without form in ONNX
// are of domain "sluice". kLimit above 2 GiB, which no ONNX model can have.
Result<std::string> graph_onnx(const Module& module);

}  // namespace sluice
