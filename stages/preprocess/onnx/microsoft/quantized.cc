#include "stages/preprocess/onnx/microsoft/quantized.h"

namespace sluice {

Value* dequantized(ExpandCall& call, size_t index) {
  return call.add(Op::kDequantizeLinear,
                  {call.input(index), call.input(index + 1), call.input(index + 2)});
}

Value* quantized(ExpandCall& call, Value* x, size_t scale, Value* like) {
  Value* zero = call.input(scale + 1);
  if (zero == nullptr) zero = call.int_like(0, like);
  return call.add(Op::kQuantizeLinear, {x, call.input(scale), zero});
}

}  // namespace sluice
