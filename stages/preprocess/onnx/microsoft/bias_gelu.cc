// BiasGelu computes Gelu(A + B).
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

Result<void> expand_bias_gelu(ExpandCall& call) {
  call.results[0] = call.add(Op::kGelu, {call.add(Op::kAdd, {call.input(0), call.input(1)})});
  return {};
}

}  // namespace sluice
