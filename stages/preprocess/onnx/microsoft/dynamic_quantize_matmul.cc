// DynamicQuantizeMatMul multiplies A, quantized by its own range, by quantized B.
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

// The inputs are A, B, b_scale, b_zero_point, bias. The scale of B is one number or one for each
// column, so it multiplies after the product.
Result<void> expand_dynamic_quantize_matmul(ExpandCall& call) {
  const Node& a = call.add_node(Op::kDynamicQuantizeLinear, {call.input(0)}, 3);
  Value* product =
      call.add(Op::kMatMulInteger, {&a.output(0), call.input(1), &a.output(2), call.input(3)});
  Value* scale = call.add(Op::kMul, {&a.output(1), call.input(2)});
  Value* result = call.add(Op::kMul, {call.cast(product, DType::kF32), scale});
  if (call.input(4) != nullptr) result = call.add(Op::kAdd, {result, call.input(4)});
  call.results[0] = result;
  return {};
}

}  // namespace sluice
