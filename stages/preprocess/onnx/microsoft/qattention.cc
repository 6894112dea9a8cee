// QAttention is Attention whose projections are products of quantized numbers.
#include "stages/preprocess/onnx/microsoft/heads.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

// The inputs are input, weight, bias, input_scale, weight_scale, mask_index, input_zero_point,
// weight_zero_point, past. The weight's scale is one number or one for each column.
Result<void> expand_qattention(ExpandCall& call) {
  Value* product =
      call.add(Op::kMatMulInteger, {call.input(0), call.input(1), call.input(6), call.input(7)});
  Value* scale = call.add(Op::kMul, {call.input(3), call.input(4)});
  Value* projection = call.add(Op::kMul, {call.add(Op::kCastLike, {product, scale}), scale});
  return attend_to_itself(call, call.add(Op::kAdd, {projection, call.input(2)}),
                          {.mask = 5, .past = 8, .bias = SIZE_MAX});
}

}  // namespace sluice
