#include "stages/subgraph-optimize/codegen/emit/scalar.h"

#include <bit>

namespace sluice {

using llvm::Value;
using loop::ScalarOp;

llvm::Type* register_type(KernelBuilder& builder, DType dtype) {
  if (dtype == DType::kF32) return builder.float_type();
  if (dtype == DType::kF64) return builder.ir().getDoubleTy();
  if (dtype == DType::kBool) return builder.ir().getInt1Ty();
  return builder.ir().getIntNTy(static_cast<unsigned>(dtype_bits(dtype)));
}

llvm::Constant* scalar_constant(KernelBuilder& builder, DType dtype, uint64_t bits) {
  llvm::Type* type = register_type(builder, dtype);
  if (dtype == DType::kF64) return llvm::ConstantFP::get(type, std::bit_cast<double>(bits));
  if (dtype == DType::kF32)
    return llvm::ConstantFP::get(type, std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return llvm::ConstantInt::get(type, bits);
}

namespace {

bool is_real(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }
bool is_signed(DType dtype) { return dtype_is_signed(dtype); }

}  // namespace

llvm::Type* ScalarEmitter::typed(Value* like, DType dtype) {
  llvm::Type* element = register_type(b_, dtype);
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return vector == nullptr ? element
                           : llvm::FixedVectorType::get(element, vector->getNumElements());
}

Value* ScalarEmitter::number(Value* like, int64_t value) {
  llvm::Type* type = like->getType();
  return type->isFPOrFPVectorTy() ? llvm::ConstantFP::get(type, static_cast<double>(value))
                                  : llvm::ConstantInt::getSigned(type, value);
}

// Sets the fault of the launch when the condition holds in a lane that counts.
void ScalarEmitter::fault_where(Value* condition) {
  if (active_ != nullptr && condition->getType() == active_->getType())
    condition = b_.ir().CreateAnd(condition, active_);
  if (condition->getType()->isVectorTy()) condition = b_.ir().CreateOrReduce(condition);
  b_.if_else(condition, [&] { b_.ir().CreateStore(b_.ir().getInt32(1), b_.fault()); }, [] {});
}

Value* ScalarEmitter::emit(ScalarOp op, DType from, DType to, const IrValues& x) {
  llvm::IRBuilder<>& ir = b_.ir();
  switch (op) {
    case ScalarOp::kAdd:
    case ScalarOp::kSub:
    case ScalarOp::kMul:
    case ScalarOp::kDiv:
    case ScalarOp::kFloorMod:
    case ScalarOp::kRemainder:
    case ScalarOp::kMax:
    case ScalarOp::kMin:
    case ScalarOp::kNeg:
    case ScalarOp::kAbs:
      return arithmetic(op, from, x);
    case ScalarOp::kSign:
      return sign(from, x[0]);
    case ScalarOp::kPow:
      return math_.pow(x[0], x[1]);
    case ScalarOp::kSqrt:
    case ScalarOp::kReciprocal:
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kRound:
    case ScalarOp::kExp:
    case ScalarOp::kExpm1:
    case ScalarOp::kLog:
    case ScalarOp::kLog1p:
    case ScalarOp::kSin:
    case ScalarOp::kCos:
    case ScalarOp::kTan:
    case ScalarOp::kAsin:
    case ScalarOp::kAcos:
    case ScalarOp::kAtan:
    case ScalarOp::kSinh:
    case ScalarOp::kCosh:
    case ScalarOp::kTanh:
    case ScalarOp::kAsinh:
    case ScalarOp::kAcosh:
    case ScalarOp::kAtanh:
    case ScalarOp::kErf:
    case ScalarOp::kSigmoid:
      return function(op, x[0]);
    case ScalarOp::kRoundToHalf:
      return math_.half_to_float(math_.float_to_half(x[0]));
    case ScalarOp::kRoundToBfloat:
      return math_.bfloat_to_float(math_.float_to_bfloat(x[0]));
    case ScalarOp::kAnd:
      return ir.CreateAnd(x[0], x[1]);
    case ScalarOp::kOr:
      return ir.CreateOr(x[0], x[1]);
    case ScalarOp::kXor:
      return ir.CreateXor(x[0], x[1]);
    case ScalarOp::kNot:
      return ir.CreateNot(x[0]);
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
      return shift(op, from, x[0], x[1]);
    case ScalarOp::kLess:
    case ScalarOp::kLessOrEqual:
    case ScalarOp::kEqual:
      return compare(op, from, x[0], x[1]);
    case ScalarOp::kSelect:
      return ir.CreateSelect(x[0], x[1], x[2]);
    case ScalarOp::kCast:
      return cast(from, to, x[0]);
    case ScalarOp::kBitCast:
      return ir.CreateBitCast(x[0], typed(x[0], to));
    case ScalarOp::kCheckIndex:
      return check_index(x[0], x[1]);
  }
  return nullptr;
}

Value* ScalarEmitter::arithmetic(ScalarOp op, DType dtype, const IrValues& x) {
  llvm::IRBuilder<>& ir = b_.ir();
  const bool real = is_real(dtype);
  switch (op) {
    case ScalarOp::kAdd:
      return real ? ir.CreateFAdd(x[0], x[1]) : ir.CreateAdd(x[0], x[1]);
    case ScalarOp::kSub:
      return real ? ir.CreateFSub(x[0], x[1]) : ir.CreateSub(x[0], x[1]);
    case ScalarOp::kMul:
      return real ? ir.CreateFMul(x[0], x[1]) : ir.CreateMul(x[0], x[1]);
    case ScalarOp::kDiv:
      return real ? ir.CreateFDiv(x[0], x[1]) : integer_division(op, dtype, x[0], x[1]);
    case ScalarOp::kFloorMod:
      return real ? math_.floor_modulus(x[0], x[1]) : integer_division(op, dtype, x[0], x[1]);
    case ScalarOp::kRemainder:
      return real ? math_.remainder(x[0], x[1]) : integer_division(op, dtype, x[0], x[1]);
    case ScalarOp::kMax:
      if (real) return math_.maximum(x[0], x[1]);
      return ir.CreateBinaryIntrinsic(
          is_signed(dtype) ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x[0], x[1]);
    case ScalarOp::kMin:
      if (real) return math_.minimum(x[0], x[1]);
      return ir.CreateBinaryIntrinsic(
          is_signed(dtype) ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x[0], x[1]);
    case ScalarOp::kNeg:
      return real ? ir.CreateFNeg(x[0]) : ir.CreateNeg(x[0]);
    default:  // kAbs
      if (real) return math_.abs(x[0]);
      if (!is_signed(dtype)) return x[0];
      return ir.CreateSelect(ir.CreateICmpSLT(x[0], number(x[0], 0)), ir.CreateNeg(x[0]), x[0]);
  }
}

Value* ScalarEmitter::function(ScalarOp op, Value* x) {
  switch (op) {
    case ScalarOp::kSqrt:
      return math_.sqrt(x);
    case ScalarOp::kReciprocal:
      return math_.reciprocal(x);
    case ScalarOp::kFloor:
      return math_.floor(x);
    case ScalarOp::kCeil:
      return math_.ceil(x);
    case ScalarOp::kRound:
      return math_.round(x);
    case ScalarOp::kExp:
      return math_.exp(x);
    case ScalarOp::kExpm1:
      return math_.expm1(x);
    case ScalarOp::kLog:
      return math_.log(x);
    case ScalarOp::kLog1p:
      return math_.log1p(x);
    case ScalarOp::kSin:
      return math_.sin(x);
    case ScalarOp::kCos:
      return math_.cos(x);
    case ScalarOp::kTan:
      return math_.tan(x);
    case ScalarOp::kAsin:
      return math_.asin(x);
    case ScalarOp::kAcos:
      return math_.acos(x);
    case ScalarOp::kAtan:
      return math_.atan(x);
    case ScalarOp::kSinh:
      return math_.sinh(x);
    case ScalarOp::kCosh:
      return math_.cosh(x);
    case ScalarOp::kTanh:
      return math_.tanh(x);
    case ScalarOp::kAsinh:
      return math_.asinh(x);
    case ScalarOp::kAcosh:
      return math_.acosh(x);
    case ScalarOp::kAtanh:
      return math_.atanh(x);
    case ScalarOp::kErf:
      return math_.erf(x);
    default:
      return math_.sigmoid(x);
  }
}

// A divisor 0 gives 0 and the fault of the launch; -1 is no division, since the quotient of the
// smallest number is none.
Value* ScalarEmitter::integer_division(ScalarOp op, DType dtype, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = b_.ir();
  Value* zero = number(b, 0);
  Value* is_zero = ir.CreateICmpEQ(b, zero);
  fault_where(is_zero);
  if (!is_signed(dtype)) {
    Value* divisor = ir.CreateSelect(is_zero, number(b, 1), b);
    Value* result = op == ScalarOp::kDiv ? ir.CreateUDiv(a, divisor) : ir.CreateURem(a, divisor);
    return ir.CreateSelect(is_zero, zero, result);
  }
  Value* is_minus_one = ir.CreateICmpEQ(b, number(b, -1));
  Value* divisor = ir.CreateSelect(ir.CreateOr(is_zero, is_minus_one), number(b, 1), b);
  if (op == ScalarOp::kDiv) {
    Value* quotient = ir.CreateSDiv(a, divisor);
    return ir.CreateSelect(is_zero, zero, ir.CreateSelect(is_minus_one, ir.CreateNeg(a), quotient));
  }
  Value* remainder = ir.CreateSRem(a, divisor);
  if (op == ScalarOp::kFloorMod) {
    Value* differs = ir.CreateICmpSLT(ir.CreateXor(remainder, b), zero);
    Value* wrong = ir.CreateAnd(ir.CreateICmpNE(remainder, zero), differs);
    remainder = ir.CreateSelect(wrong, ir.CreateAdd(remainder, b), remainder);
  }
  return ir.CreateSelect(ir.CreateOr(is_zero, is_minus_one), zero, remainder);
}

Value* ScalarEmitter::compare(ScalarOp op, DType dtype, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = b_.ir();
  if (is_real(dtype)) {
    if (op == ScalarOp::kLess) return ir.CreateFCmpOLT(a, b);
    return op == ScalarOp::kEqual ? ir.CreateFCmpOEQ(a, b) : ir.CreateFCmpOLE(a, b);
  }
  if (op == ScalarOp::kEqual) return ir.CreateICmpEQ(a, b);
  if (is_signed(dtype))
    return op == ScalarOp::kLess ? ir.CreateICmpSLT(a, b) : ir.CreateICmpSLE(a, b);
  return op == ScalarOp::kLess ? ir.CreateICmpULT(a, b) : ir.CreateICmpULE(a, b);
}

Value* ScalarEmitter::cast(DType from, DType to, Value* x) {
  llvm::IRBuilder<>& ir = b_.ir();
  llvm::Type* type = typed(x, to);
  if (to == DType::kBool) {
    return is_real(from) ? ir.CreateFCmpUNE(x, number(x, 0)) : ir.CreateICmpNE(x, number(x, 0));
  }
  if (is_real(from) && is_real(to)) return ir.CreateFPCast(x, type);
  if (is_real(from))
    return math_.float_to_int(x, llvm::cast<llvm::IntegerType>(register_type(b_, to)),
                              is_signed(to));
  const bool keeps_sign = from != DType::kBool && is_signed(from);
  if (is_real(to)) return keeps_sign ? ir.CreateSIToFP(x, type) : ir.CreateUIToFP(x, type);
  return ir.CreateIntCast(x, type, keeps_sign);
}

Value* ScalarEmitter::truncate_within_i32(Value* x, DType to) {
  Value* integer = b_.ir().CreateFPToSI(x, typed(x, DType::kI32));
  return b_.ir().CreateIntCast(integer, typed(x, to), true);
}

// A shift by the width or more gives 0. Signed integers are shifted right with their sign.
Value* ScalarEmitter::shift(ScalarOp op, DType dtype, Value* a, Value* amount) {
  llvm::IRBuilder<>& ir = b_.ir();
  const auto width = static_cast<int64_t>(a->getType()->getScalarSizeInBits());
  Value* fits = ir.CreateICmpULT(amount, number(amount, width));
  Value* by = ir.CreateSelect(fits, amount, number(amount, 0));
  Value* shifted = op == ScalarOp::kShiftLeft ? ir.CreateShl(a, by)
                   : is_signed(dtype)         ? ir.CreateAShr(a, by)
                                              : ir.CreateLShr(a, by);
  return ir.CreateSelect(fits, shifted, number(a, 0));
}

// NaN, 0 and -0 are their own signs.
Value* ScalarEmitter::sign(DType dtype, Value* x) {
  llvm::IRBuilder<>& ir = b_.ir();
  Value* zero = number(x, 0);
  Value* is_above = compare(ScalarOp::kLess, dtype, zero, x);
  Value* negative = x;
  if (is_signed(dtype))
    negative = ir.CreateSelect(compare(ScalarOp::kLess, dtype, x, zero), number(x, -1), x);
  return ir.CreateSelect(is_above, number(x, 1), negative);
}

Value* ScalarEmitter::check_index(Value* a, Value* limit) {
  llvm::IRBuilder<>& ir = b_.ir();
  Value* zero = number(a, 0);
  Value* index = ir.CreateSelect(ir.CreateICmpSLT(a, zero), ir.CreateAdd(a, limit), a);
  fault_where(ir.CreateICmpUGE(index, limit));
  Value* last = ir.CreateSub(limit, number(a, 1));
  index = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, index, last);
  return ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, index, zero);
}

}  // namespace sluice
