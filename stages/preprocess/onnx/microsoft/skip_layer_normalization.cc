// SkipLayerNormalization computes LayerNormalization of input + skip (+ bias). Skip may be [1, S,
// H] or [S, H].
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

Result<void> expand_skip_layer_normalization(ExpandCall& call) {
  Value* sum = call.add(Op::kAdd, {call.input(0), call.input(1)});
  if (call.input(4) != nullptr) sum = call.add(Op::kAdd, {sum, call.input(4)});
  const bool statistics = call.wants(1) || call.wants(2);
  Node& node = call.add_node(
      Op::kLayerNormalization, {sum, call.input(2), call.input(3)}, statistics ? 3 : 1,
      {{"axis", int64_t{-1}},
       {"epsilon", call.get(microsoft_attributes::SkipLayerNormalization::epsilon)}});
  call.results[0] = &node.output(0);
  for (const size_t i : {1, 2}) {
    if (call.wants(i)) call.results[i] = &node.output(i);
  }
  if (call.wants(3)) call.results[3] = sum;
  return {};
}

}  // namespace sluice
