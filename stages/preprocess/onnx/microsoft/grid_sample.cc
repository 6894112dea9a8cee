// GridSample is ONNX's, before ONNX had it.
#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

using GridSampleAttributes = microsoft_attributes::GridSample;

Result<void> expand_grid_sample(ExpandCall& call) {
  Node& node = call.add_node(Op::kGridSample, {call.input(0), call.input(1)}, 1);
  call.copy(node, GridSampleAttributes::align_corners, GridSampleAttributes::padding_mode);
  const std::string mode = call.get(GridSampleAttributes::mode);
  node.set(attributes::GridSample::mode, std::string(mode == "bilinear"  ? "linear"
                                                     : mode == "bicubic" ? "cubic"
                                                                         : "nearest"));
  call.results[0] = &node.output();
  return {};
}

}  // namespace sluice
