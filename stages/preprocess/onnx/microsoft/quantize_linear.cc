// QuantizeLinear is ONNX's, for more dtypes than ONNX once had.
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

Result<void> expand_quantize_linear(ExpandCall& call) {
  Node& node = call.add_node(Op::kQuantizeLinear, call.inputs, 1);
  call.copy_attributes(node, {"axis", "block_size", "output_dtype", "saturate"});
  call.results[0] = &node.output();
  return {};
}

}  // namespace sluice
