// Affine computes alpha * x + beta.
#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {

Result<void> expand_affine(ExpandCall& call) {
  Value* x = call.input(0);
  Value* scaled = call.add(Op::kMul, {x, call.number(call.float_attribute("alpha", 1), x)});
  call.results[0] = call.add(Op::kAdd, {scaled, call.number(call.float_attribute("beta", 0), x)});
  return {};
}

}  // namespace sluice
