// FastGelu computes Gelu by tanh of X + bias.
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

Result<void> expand_fast_gelu(ExpandCall& call) {
  Value* x = call.input(0);
  if (call.input(1) != nullptr) x = call.add(Op::kAdd, {x, call.input(1)});
  call.results[0] = call.add(Op::kGelu, {x}, {{"approximate", std::string("tanh")}});
  return {};
}

}  // namespace sluice
