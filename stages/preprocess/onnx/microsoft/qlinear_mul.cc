// QLinearMul multiplies quantized operands.
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/microsoft/quantized.h"

namespace sluice {

Result<void> expand_qlinear_mul(ExpandCall& call) {
  Value* result = call.add(Op::kMul, {dequantized(call, 0), dequantized(call, 3)});
  call.results[0] = quantized(call, result, 6, call.input(0));
  return {};
}

}  // namespace sluice
