// QLinearSigmoid is Sigmoid of quantized numbers.
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/microsoft/quantized.h"

namespace sluice {

Result<void> expand_qlinear_sigmoid(ExpandCall& call) {
  call.results[0] =
      quantized(call, call.add(Op::kSigmoid, {dequantized(call, 0)}), 3, call.input(0));
  return {};
}

}  // namespace sluice
