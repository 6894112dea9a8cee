// Domains that nodes use and that the model does not import. ONNX demands the import; ONNX Runtime
// takes the newest opset it knows.
#pragma once

#include "common/base/warnings.h"
#include "onnx.pb.h"

namespace sluice {

// Warns of them for the nodes in the file, before functions are inlined. Nodes of ONNX's own domain
// that depend on its opset cause no warning: where that import is missing, the model is rejected.
void warn_of_missing_imports(const onnx::ModelProto& model, Warnings& warnings);

}  // namespace sluice
