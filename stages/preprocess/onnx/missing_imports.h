// Domains that nodes are of and that the model does not import. ONNX asks for the import; ONNX
// Runtime takes the newest opset it knows.
#pragma once

#include "common/base/warnings.h"
#include "onnx.pb.h"

namespace sluice {

// Of nodes as the file has them, before functions are written out. Nothing is said of nodes of
// ONNX's own domain that depend on its opset: where that is missing, the model is refused.
void warn_of_missing_imports(const onnx::ModelProto& model, Warnings& warnings);

}  // namespace sluice
