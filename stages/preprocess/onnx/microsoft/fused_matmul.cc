// FusedMatMul computes alpha * A' B', where A' and B' may have their last two axes exchanged, or
// their first axis moved after the batch axes.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {
namespace {

using FusedMatMulAttributes = microsoft_attributes::FusedMatMul;

// Returns the order of axes that makes the operand of MatMul. With transBatch [M, batch..., K]
// means [batch..., M, K].
std::vector<int64_t> operand_order(int64_t rank, bool trans, bool trans_batch) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < rank - 2; ++i) order.push_back(trans_batch ? i + 1 : i);
  order.push_back(trans_batch ? 0 : rank - 2);
  order.push_back(rank - 1);
  if (trans) std::swap(order[order.size() - 1], order[order.size() - 2]);
  return order;
}

Result<Value*> operand(ExpandCall& call, size_t index, const IntAttribute& trans,
                       const IntAttribute& trans_batch) {
  const bool swaps = call.get(trans) != 0;
  const bool moves = call.get(trans_batch) != 0;
  if (!swaps && !moves) return call.input(index);
  SLUICE_ASSIGN(const int64_t rank, call.rank(index));
  if (rank < 2) return call.input(index);  // a vector has nothing to exchange
  if (!swaps && rank == 2) return call.input(index);
  return call.transpose(call.input(index), operand_order(rank, swaps, moves));
}

}  // namespace

Result<void> expand_fused_matmul(ExpandCall& call) {
  const float alpha = call.get(FusedMatMulAttributes::alpha);
  SLUICE_ASSIGN(Value * a, operand(call, 0, FusedMatMulAttributes::transA,
                                   FusedMatMulAttributes::transBatchA));
  SLUICE_ASSIGN(Value * b, operand(call, 1, FusedMatMulAttributes::transB,
                                   FusedMatMulAttributes::transBatchB));
  Value* product = call.add(Op::kMatMul, {a, b});
  call.results[0] =
      alpha == 1 ? product : call.add(Op::kMul, {product, call.number(alpha, call.input(0))});
  return {};
}

}  // namespace sluice
