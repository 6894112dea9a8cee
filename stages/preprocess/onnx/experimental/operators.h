// The experimental operators of ONNX's first releases, which were never in an opset and were
// removed from ONNX, are replaced by canonical nodes at import. There is one row of the table
// (table.cc) and one file for each. They compute what ONNX Runtime computes, or Caffe2 where ONNX
// Runtime has only a schema.
#pragma once

#include "stages/preprocess/onnx/expand_row.h"

namespace sluice {

// Returns null for a node that is not of ONNX's own domain, or not in the table.
const ExpandRow* find_experimental_operator(const onnx::NodeProto& node);

Result<void> expand_affine(ExpandCall& call);
Result<void> expand_constant_fill(ExpandCall& call);
Result<void> expand_crop(ExpandCall& call);
Result<void> expand_dynamic_slice(ExpandCall& call);
Result<void> expand_given_tensor_fill(ExpandCall& call);
Result<void> expand_gru_unit(ExpandCall& call);
Result<void> expand_image_scaler(ExpandCall& call);
Result<void> expand_parametric_softplus(ExpandCall& call);
Result<void> expand_scale(ExpandCall& call);
Result<void> expand_scaled_tanh(ExpandCall& call);

}  // namespace sluice
