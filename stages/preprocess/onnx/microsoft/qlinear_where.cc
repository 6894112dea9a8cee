// QLinearWhere is Where of quantized numbers.
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/microsoft/quantized.h"

namespace sluice {

Result<void> expand_qlinear_where(ExpandCall& call) {
  Value* result = call.add(Op::kWhere, {call.input(0), dequantized(call, 1), dequantized(call, 4)});
  call.results[0] = quantized(call, result, 7, call.input(1));
  return {};
}

}  // namespace sluice
