// QLinearLeakyRelu is LeakyRelu of quantized numbers.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/microsoft/quantized.h"

namespace sluice {

Result<void> expand_qlinear_leaky_relu(ExpandCall& call) {
  Value* result = call.add(Op::kLeakyRelu, {dequantized(call, 0)},
                           {{"alpha", call.get(microsoft_attributes::QLinearLeakyRelu::alpha)}});
  call.results[0] = quantized(call, result, 3, call.input(0));
  return {};
}

}  // namespace sluice
