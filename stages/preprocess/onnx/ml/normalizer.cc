// Normalizer divides each row by its largest element, its sum of absolute values or its length; not
// at all where that is zero.
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

Result<void> expand_normalizer(ExpandCall& call) {
  const std::string norm = call.get(ml_attributes::Normalizer::norm);
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    return call.bad("attribute 'norm' is '{}', expected MAX, L1 or L2", norm);
  const Op op = norm == "MAX" ? Op::kReduceMax : norm == "L1" ? Op::kReduceL1 : Op::kReduceL2;
  Value* x = call.cast(call.input(0), DType::kF32);
  Value* size = call.add(op, {x, call.ints({-1})}, {{"keepdims", int64_t{1}}});
  Value* divisor =
      call.add(Op::kWhere, {call.add(Op::kEqual, {size, call.number(0)}), call.number(1), size});
  call.results[0] = call.add(Op::kDiv, {x, divisor});
  return {};
}

}  // namespace sluice
