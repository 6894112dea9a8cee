// ScaledTanh computes alpha * tanh(beta * x). The factors have no defaults.
#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {

Result<void> expand_scaled_tanh(ExpandCall& call) {
  Value* x = call.input(0);
  Value* tanh = call.add(
      Op::kTanh, {call.add(Op::kMul, {x, call.number(call.float_attribute("beta", 1), x)})});
  call.results[0] = call.add(Op::kMul, {tanh, call.number(call.float_attribute("alpha", 1), x)});
  return {};
}

}  // namespace sluice
