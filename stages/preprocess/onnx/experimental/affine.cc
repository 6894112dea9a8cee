// Affine computes alpha * x + beta.
#include "stages/preprocess/onnx/experimental/attributes.h"
#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {

using AffineAttributes = experimental_attributes::Affine;

Result<void> expand_affine(ExpandCall& call) {
  Value* x = call.input(0);
  Value* scaled = call.add(Op::kMul, {x, call.number(call.get(AffineAttributes::alpha), x)});
  call.results[0] = call.add(Op::kAdd, {scaled, call.number(call.get(AffineAttributes::beta), x)});
  return {};
}

}  // namespace sluice
