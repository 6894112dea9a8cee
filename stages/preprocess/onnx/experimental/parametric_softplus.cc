// ParametricSoftplus computes alpha * ln(exp(beta * x) + 1). The factors have no defaults.
#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {

Result<void> expand_parametric_softplus(ExpandCall& call) {
  Value* x = call.input(0);
  Value* softplus = call.add(
      Op::kSoftplus, {call.add(Op::kMul, {x, call.number(call.float_attribute("beta", 1), x)})});
  call.results[0] =
      call.add(Op::kMul, {softplus, call.number(call.float_attribute("alpha", 1), x)});
  return {};
}

}  // namespace sluice
