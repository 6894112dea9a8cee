// DequantizeLinear is ONNX's, for more dtypes than ONNX once had.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

using DequantizeLinearAttributes = microsoft_attributes::DequantizeLinear;

Result<void> expand_dequantize_linear(ExpandCall& call) {
  Node& node = call.add_node(Op::kDequantizeLinear, call.inputs, 1);
  call.copy(node, DequantizeLinearAttributes::axis, DequantizeLinearAttributes::block_size);
  call.results[0] = &node.output();
  return {};
}

}  // namespace sluice
