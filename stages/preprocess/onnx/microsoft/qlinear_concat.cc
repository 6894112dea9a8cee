// QLinearConcat is Concat of quantized numbers, each operand with a scale and a zero point of its
// own.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/microsoft/quantized.h"

namespace sluice {

Result<void> expand_qlinear_concat(ExpandCall& call) {
  if (call.inputs.size() < 5 || (call.inputs.size() - 2) % 3 != 0) {
    return call.bad("it has {} inputs, expected 2 and then 3 for each operand", call.inputs.size());
  }
  std::vector<Value*> operands;
  for (size_t i = 2; i < call.inputs.size(); i += 3) {
    if (call.input(i) == nullptr || call.input(i + 1) == nullptr)
      return call.bad("input {} is absent", call.input(i) == nullptr ? i : i + 1);
    operands.push_back(dequantized(call, i));
  }
  call.results[0] = quantized(
      call, call.concat(std::move(operands), call.get(microsoft_attributes::QLinearConcat::axis)),
      0, call.input(2));
  return {};
}

}  // namespace sluice
