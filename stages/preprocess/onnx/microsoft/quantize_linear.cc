// QuantizeLinear is ONNX's, for more dtypes than ONNX once had.
#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

using QuantizeLinearAttributes = microsoft_attributes::QuantizeLinear;

Result<void> expand_quantize_linear(ExpandCall& call) {
  Node& node = call.add_node(Op::kQuantizeLinear, call.inputs, 1);
  call.copy(node, QuantizeLinearAttributes::axis, QuantizeLinearAttributes::block_size,
            QuantizeLinearAttributes::output_dtype, QuantizeLinearAttributes::saturate);
  node.set(attributes::QuantizeLinear::precision, static_cast<int64_t>(DType::kF32));
  call.results[0] = &node.output();
  return {};
}

}  // namespace sluice
