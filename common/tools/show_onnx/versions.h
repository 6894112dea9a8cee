// The versions that an exported model declares.
#pragma once

#include "common/ir/module.h"
#include "common/tools/show_onnx/forms.h"

namespace sluice {

struct OnnxVersions {
  int opset = kFirstOpset;
  int ir = needed_ir_version(DType::kF32);
};

// Returns the first versions that have all operators as they are used, and all element types.
// Expressions are counted where the model has their nodes.
OnnxVersions needed_versions(const Module& module, bool has_expressions);

}  // namespace sluice
