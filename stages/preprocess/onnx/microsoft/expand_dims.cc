// ExpandDims is Unsqueeze along one axis.
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

Result<void> expand_expand_dims(ExpandCall& call) {
  Value* axes = call.reshape(call.cast(call.input(1), DType::kI64), {1});
  call.results[0] = call.add(Op::kUnsqueeze, {call.input(0), axes});
  return {};
}

}  // namespace sluice
