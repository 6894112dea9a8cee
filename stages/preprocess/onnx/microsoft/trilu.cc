// Trilu is ONNX's, before ONNX had it.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

Result<void> expand_trilu(ExpandCall& call) {
  Node& node = call.add_node(Op::kTrilu, {call.input(0), call.input(1)}, 1);
  call.copy(node, microsoft_attributes::Trilu::upper);
  call.results[0] = &node.output();
  return {};
}

}  // namespace sluice
