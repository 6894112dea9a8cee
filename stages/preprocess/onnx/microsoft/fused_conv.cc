// FusedConv computes activation(Conv(X, W, B) + Z).
#include "stages/preprocess/onnx/microsoft/activation.h"
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

using Attributes = microsoft_attributes::FusedConv;

Result<void> expand_fused_conv(ExpandCall& call) {
  Node& node = call.add_node(Op::kConv, {call.input(0), call.input(1), call.input(2)}, 1);
  call.copy(node, Attributes::auto_pad, Attributes::dilations, Attributes::group,
            Attributes::kernel_shape, Attributes::pads, Attributes::strides);
  Value* sum = &node.output();
  if (call.input(3) != nullptr) sum = call.add(Op::kAdd, {sum, call.input(3)});
  SLUICE_ASSIGN(call.results[0], add_activation(call, sum, call.get(Attributes::activation),
                                                call.get(Attributes::activation_params)));
  return {};
}

}  // namespace sluice
