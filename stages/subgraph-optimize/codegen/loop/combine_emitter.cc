#include "stages/subgraph-optimize/codegen/loop/combine_emitter.h"

namespace sluice {

using llvm::Value;
using loop::Accumulator;
using loop::Combine;

Value* CombineEmitter::neutral(const Accumulator& accumulator) {
  llvm::Type* type = register_type(b_, accumulator.dtype);
  switch (accumulator.combine) {
    case Combine::kSum:
    case Combine::kCarry:
      return llvm::Constant::getNullValue(type);
    case Combine::kProduct:
      return loop::is_real(accumulator.dtype) ? llvm::ConstantFP::get(type, 1.0)
                                              : llvm::ConstantInt::get(type, 1);
    default:
      return neutral_extreme(accumulator, type);
  }
}

llvm::Constant* CombineEmitter::neutral_extreme(const Accumulator& accumulator, llvm::Type* type) {
  const bool is_max =
      accumulator.combine == Combine::kMax || accumulator.combine == Combine::kArgMax;
  if (loop::is_real(accumulator.dtype)) return llvm::ConstantFP::getInfinity(type, is_max);
  const unsigned bits = type->getIntegerBitWidth();
  const bool is_signed = dtype_is_signed(accumulator.dtype);
  const llvm::APInt lowest =
      is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits);
  const llvm::APInt largest =
      is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  return llvm::ConstantInt::get(type, is_max ? lowest : largest);
}

Value* CombineEmitter::combine(const Accumulator& accumulator, Value* a, Value* b) {
  const DType dtype = accumulator.dtype;
  switch (accumulator.combine) {
    case Combine::kSum:
      return scalar_.emit(loop::ScalarOp::kAdd, dtype, dtype, {a, b});
    case Combine::kProduct:
      return scalar_.emit(loop::ScalarOp::kMul, dtype, dtype, {a, b});
    case Combine::kMax:
    case Combine::kMin:
      return extreme(accumulator, a, b);
    default:
      return b;
  }
}

// The larger or smaller of the value so far and a fresh one. A NaN so far stays, since a comparison
// with it is false; a fresh NaN is found without waiting for the value so far.
Value* CombineEmitter::extreme(const Accumulator& accumulator, Value* so_far, Value* fresh) {
  const bool is_max = accumulator.combine == Combine::kMax;
  if (!loop::is_real(accumulator.dtype)) {
    const loop::ScalarOp op = is_max ? loop::ScalarOp::kMax : loop::ScalarOp::kMin;
    return scalar_.emit(op, accumulator.dtype, accumulator.dtype, {so_far, fresh});
  }
  llvm::IRBuilder<>& ir = b_.ir();
  Value* extreme = number_extreme(accumulator, so_far, fresh);
  return ir.CreateSelect(ir.CreateFCmpUNO(fresh, fresh), fresh, extreme);
}

Value* CombineEmitter::number_extreme(const Accumulator& accumulator, Value* so_far, Value* fresh) {
  llvm::IRBuilder<>& ir = b_.ir();
  Value* wins = accumulator.combine == Combine::kMax ? ir.CreateFCmpOGT(fresh, so_far)
                                                     : ir.CreateFCmpOLT(fresh, so_far);
  return ir.CreateSelect(wins, fresh, so_far);
}

Value* CombineEmitter::is_better(const Accumulator& accumulator, const Best& fresh,
                                 const Best& best) {
  const bool is_max = accumulator.combine == Combine::kArgMax;
  const DType dtype = accumulator.dtype;
  const IrValues order = is_max ? IrValues{best.key, fresh.key} : IrValues{fresh.key, best.key};
  Value* above = scalar_.emit(loop::ScalarOp::kLess, dtype, DType::kBool, order);
  Value* equal = scalar_.emit(loop::ScalarOp::kEqual, dtype, DType::kBool, {fresh.key, best.key});
  Value* wins = accumulator.is_last ? b_.ir().CreateICmpSGT(fresh.position, best.position)
                                    : b_.ir().CreateICmpSLT(fresh.position, best.position);
  return b_.ir().CreateOr(above, b_.ir().CreateAnd(equal, wins));
}

}  // namespace sluice
