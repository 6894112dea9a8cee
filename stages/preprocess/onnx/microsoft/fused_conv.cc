// FusedConv computes activation(Conv(X, W, B) + Z).
#include "stages/preprocess/onnx/microsoft/activation.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

Result<void> expand_fused_conv(ExpandCall& call) {
  Node& node = call.add_node(Op::kConv, {call.input(0), call.input(1), call.input(2)}, 1);
  call.copy_attributes(node, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  Value* sum = &node.output();
  if (call.input(3) != nullptr) sum = call.add(Op::kAdd, {sum, call.input(3)});
  SLUICE_ASSIGN(call.results[0], add_activation(call, sum, call.string_attribute("activation", ""),
                                                call.floats_attribute("activation_params")));
  return {};
}

}  // namespace sluice
