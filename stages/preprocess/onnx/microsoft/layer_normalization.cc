// LayerNormalization is the one that runtimes had before ONNX, with the same inputs, attributes and
// outputs.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

using LayerNormalizationAttributes = microsoft_attributes::LayerNormalization;

Result<void> expand_layer_normalization(ExpandCall& call) {
  const size_t outputs = call.results.size();
  Node& node = call.add_node(Op::kLayerNormalization, call.inputs, outputs);
  call.copy(node, LayerNormalizationAttributes::axis, LayerNormalizationAttributes::epsilon,
            LayerNormalizationAttributes::stash_type);
  for (size_t i = 0; i < outputs; ++i) call.results[i] = &node.output(i);
  return {};
}

}  // namespace sluice
