// ScaledTanh computes alpha * tanh(beta * x). The factors have no defaults.
#include "stages/preprocess/onnx/experimental/attributes.h"
#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {

using ScaledTanhAttributes = experimental_attributes::ParametricSoftplus;

Result<void> expand_scaled_tanh(ExpandCall& call) {
  Value* x = call.input(0);
  Value* tanh = call.add(
      Op::kTanh, {call.add(Op::kMul, {x, call.number(call.get(ScaledTanhAttributes::beta), x)})});
  call.results[0] =
      call.add(Op::kMul, {tanh, call.number(call.get(ScaledTanhAttributes::alpha), x)});
  return {};
}

}  // namespace sluice
