// QuantizeLinear is ONNX's, for more dtypes than ONNX once had.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

using Attributes = microsoft_attributes::QuantizeLinear;

Result<void> expand_quantize_linear(ExpandCall& call) {
  Node& node = call.add_node(Op::kQuantizeLinear, call.inputs, 1);
  call.copy(node, Attributes::axis, Attributes::block_size, Attributes::output_dtype,
            Attributes::saturate);
  call.results[0] = &node.output();
  return {};
}

}  // namespace sluice
