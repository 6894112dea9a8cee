// ParametricSoftplus computes alpha * ln(exp(beta * x) + 1). The factors have no defaults.
#include "stages/preprocess/onnx/experimental/attributes.h"
#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {

using ParametricSoftplusAttributes = experimental_attributes::ParametricSoftplus;

Result<void> expand_parametric_softplus(ExpandCall& call) {
  Value* x = call.input(0);
  Value* softplus = call.add(
      Op::kSoftplus,
      {call.add(Op::kMul, {x, call.number(call.get(ParametricSoftplusAttributes::beta), x)})});
  call.results[0] =
      call.add(Op::kMul, {softplus, call.number(call.get(ParametricSoftplusAttributes::alpha), x)});
  return {};
}

}  // namespace sluice
