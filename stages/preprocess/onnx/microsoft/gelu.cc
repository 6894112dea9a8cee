// Gelu is ONNX's, before ONNX had it.
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

Result<void> expand_gelu(ExpandCall& call) {
  call.results[0] = call.add(Op::kGelu, {call.input(0)});
  return {};
}

}  // namespace sluice
