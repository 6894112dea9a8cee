// Scale computes scale * x.
#include "stages/preprocess/onnx/experimental/attributes.h"
#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {

Result<void> expand_scale(ExpandCall& call) {
  Value* x = call.input(0);
  call.results[0] =
      call.add(Op::kMul, {x, call.number(call.get(experimental_attributes::Scale::scale), x)});
  return {};
}

}  // namespace sluice
