// The nodes of a graph that an ONNX model cannot have.
#pragma once

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Returns kUnsupportedOp, with all nodes that no operator of ONNX and no decomposition computes.
Result<void> check_has_onnx_forms(const Module& module);

}  // namespace sluice
