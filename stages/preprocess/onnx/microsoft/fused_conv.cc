// FusedConv computes activation(Conv(X, W, B) + Z).
#include "stages/preprocess/onnx/microsoft/activation.h"
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

using FusedConvAttributes = microsoft_attributes::FusedConv;

Result<void> expand_fused_conv(ExpandCall& call) {
  Node& node = call.add_node(Op::kConv, {call.input(0), call.input(1), call.input(2)}, 1);
  call.copy(node, FusedConvAttributes::auto_pad, FusedConvAttributes::dilations,
            FusedConvAttributes::group, FusedConvAttributes::kernel_shape,
            FusedConvAttributes::pads, FusedConvAttributes::strides);
  Value* sum = &node.output();
  if (call.input(3) != nullptr) sum = call.add(Op::kAdd, {sum, call.input(3)});
  SLUICE_ASSIGN(call.results[0],
                add_activation(call, sum, call.get(FusedConvAttributes::activation),
                               call.get(FusedConvAttributes::activation_params)));
  return {};
}

}  // namespace sluice
