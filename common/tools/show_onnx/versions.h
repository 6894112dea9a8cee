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
// Of a model that runs, expressions are counted and decomposed nodes are not.
OnnxVersions needed_versions(const Module& module, bool runs);

}  // namespace sluice
