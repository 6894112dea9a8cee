// LayerNormalization is the one that runtimes had before ONNX, with the same inputs, attributes and
// outputs.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/normalization.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

using LayerNormalizationAttributes = microsoft_attributes::LayerNormalization;

Value* as_scaled(ExpandCall& call, Value* x, const Value* scale) {
  const Type &own = x->type(), &wanted = scale->type();
  const bool differ = own.is_tensor() && wanted.is_tensor() && own.dtype != wanted.dtype &&
                      own.dtype != DType::kUndefined && wanted.dtype != DType::kUndefined;
  return differ ? call.cast(x, wanted.dtype) : x;
}

Result<void> expand_layer_normalization(ExpandCall& call) {
  const size_t outputs = call.results.size();
  std::vector<Value*> operands = call.inputs;
  operands[0] = as_scaled(call, call.input(0), call.input(1));
  Node& node = call.add_node(Op::kLayerNormalization, operands, outputs);
  call.copy(node, LayerNormalizationAttributes::axis, LayerNormalizationAttributes::epsilon,
            LayerNormalizationAttributes::stash_type);
  for (size_t i = 0; i < outputs; ++i) call.results[i] = &node.output(i);
  return {};
}

}  // namespace sluice
