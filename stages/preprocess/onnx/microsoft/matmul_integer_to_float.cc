// MatMulIntegerToFloat multiplies two quantized matrices into real numbers.
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

// The inputs are A, B, their scales, their zero points, bias. The scales are one number or, of B,
// one for each column, so they multiply after the product.
Result<void> expand_matmul_integer_to_float(ExpandCall& call) {
  Value* product =
      call.add(Op::kMatMulInteger, {call.input(0), call.input(1), call.input(4), call.input(5)});
  Value* scale = call.add(Op::kMul, {call.input(2), call.input(3)});
  SLUICE_ASSIGN(const DType dtype, call.dtype(2));
  Value* result = call.add(Op::kMul, {call.cast(product, dtype), scale});
  if (call.input(6) != nullptr) result = call.add(Op::kAdd, {result, call.input(6)});
  call.results[0] = result;
  return {};
}

}  // namespace sluice
