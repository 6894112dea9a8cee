// QGemm is Gemm of quantized matrices; its bias is of i32, with the scale of the product.
#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/microsoft/quantized.h"

namespace sluice {
namespace {

using QGemmAttributes = microsoft_attributes::QGemm;

// B, whose scale is one number or one for each column.
Result<Value*> matrix_b(ExpandCall& call) {
  Value* b = dequantized(call, 3);
  SLUICE_ASSIGN(const int64_t rank, call.rank(4));
  const int64_t columns = call.get(QGemmAttributes::transB) == 0 ? 1 : 0;
  if (rank == 1) b->producer()->set(attributes::DequantizeLinear::axis, columns);
  return b;
}

}  // namespace

Result<void> expand_qgemm(ExpandCall& call) {
  SLUICE_ASSIGN(Value * b, matrix_b(call));
  Node& node = call.add_node(Op::kGemm, {dequantized(call, 0), b}, 1);
  call.copy(node, QGemmAttributes::alpha, QGemmAttributes::transA, QGemmAttributes::transB);
  Value* result = &node.output();
  if (call.input(6) != nullptr) {
    Value* scale = call.add(Op::kMul, {call.input(1), call.input(4)});
    scale = call.add(Op::kMul, {scale, call.number(call.get(QGemmAttributes::alpha), scale)});
    Value* bias = call.add(Op::kMul, {call.cast(call.input(6), DType::kF32), scale});
    node.add_input(bias);
  }
  call.results[0] = call.input(7) == nullptr ? result : quantized(call, result, 7, call.input(0));
  return {};
}

}  // namespace sluice
