// Conversions. float_to_int follows common/eval/number.cc.
#include <cmath>

#include "stages/subgraph-optimize/codegen/emit/math_basics.h"

namespace sluice {
namespace {

using llvm::Value;

llvm::Type* floats_like(Ir& ir, const Value* x) {
  return MathBasics::with_lanes(ir.getFloatTy(), x);
}

llvm::Constant* word(Ir& ir, const Value* like, uint32_t value) {
  return llvm::ConstantInt::get(MathBasics::with_lanes(ir.getInt32Ty(), like), value);
}

llvm::Type* halves_like(Ir& ir, const Value* x) {
  return MathBasics::with_lanes(ir.getInt16Ty(), x);
}

// Changes the bias of the exponent from 15 to 127. A denormal half becomes 2^-14 + its value, of
// which 2^-14 is subtracted: no denormal float occurs.
Value* widen_half(Ir& ir, Value* half) {
  Value* bits = ir.CreateZExt(half, MathBasics::with_lanes(ir.getInt32Ty(), half));
  const auto number = [&](uint32_t value) { return word(ir, half, value); };
  Value* sign = ir.CreateShl(ir.CreateAnd(bits, number(0x8000)), number(16));
  Value* magnitude = ir.CreateShl(ir.CreateAnd(bits, number(0x7fff)), number(13));
  Value* normal = ir.CreateAdd(magnitude, number(112u << 23));
  Value* special = ir.CreateOr(magnitude, number(255u << 23));
  llvm::Type* floats = floats_like(ir, half);
  Value* raised = ir.CreateBitCast(ir.CreateAdd(magnitude, number(113u << 23)), floats);
  Value* denormal = ir.CreateBitCast(ir.CreateFSub(raised, llvm::ConstantFP::get(floats, 0x1p-14)),
                                     bits->getType());
  Value* result = ir.CreateSelect(ir.CreateICmpULT(magnitude, number(1u << 23)), denormal, normal);
  result = ir.CreateSelect(ir.CreateICmpUGE(magnitude, number(31u << 23)), special, result);
  return ir.CreateBitCast(ir.CreateOr(result, sign), floats);
}

// Denormal halves are multiples of 2^-24, the last bit of floats from 1/2 on: adding 1/2 rounds.
Value* narrow_to_half(Ir& ir, Value* x) {
  const auto number = [&](uint32_t value) { return word(ir, x, value); };
  llvm::Type* words = MathBasics::with_lanes(ir.getInt32Ty(), x);
  Value* bits = ir.CreateBitCast(x, words);
  Value* sign = ir.CreateAnd(ir.CreateLShr(bits, number(16)), number(0x8000));
  Value* magnitude = ir.CreateAnd(bits, number(0x7fffffff));
  Value* odd = ir.CreateAnd(ir.CreateLShr(magnitude, number(13)), number(1));
  Value* rounded = ir.CreateAdd(ir.CreateAdd(magnitude, number(0xfff - (112u << 23))), odd);
  Value* result = ir.CreateLShr(rounded, number(13));
  Value* raised = ir.CreateFAdd(ir.CreateBitCast(magnitude, x->getType()),
                                llvm::ConstantFP::get(x->getType(), 0.5));
  Value* denormal = ir.CreateSub(ir.CreateBitCast(raised, words), number(126u << 23));
  result = ir.CreateSelect(ir.CreateICmpULT(magnitude, number(113u << 23)), denormal, result);
  result = ir.CreateSelect(ir.CreateICmpUGE(magnitude, number(0x477ff000)), number(0x7c00), result);
  result = ir.CreateSelect(ir.CreateICmpUGT(magnitude, number(0x7f800000)), number(0x7e00), result);
  return ir.CreateTrunc(ir.CreateOr(result, sign), halves_like(ir, x));
}

// Returns trunc(x) where |x| < 2^(bits - 1), and the most negative integer elsewhere.
Value* truncate_to(const MathBasics& m, Value* x, unsigned bits) {
  Ir& ir = m.ir();
  llvm::Type* type = MathBasics::with_lanes(ir.getIntNTy(bits), x);
  Value* fits = m.less(m.abs(x), std::ldexp(1.0, static_cast<int>(bits) - 1));
  Value* integer = ir.CreateFPToSI(m.select(fits, x, m.number(x, 0)), type);
  return ir.CreateSelect(fits, integer,
                         llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(bits)));
}

// Returns the low 16 bits of the 64-bit integer, in an i32: trunc(x) modulo 2^16 is exact in
// floats. The most negative integer ends in zeros.
Value* low_half(const MathBasics& m, Value* x) {
  Ir& ir = m.ir();
  Value* multiple = m.mul(m.truncate(m.mul(x, 0x1p-16)), 0x1p16);
  Value* low = m.select(m.less(m.abs(x), 0x1p63), m.sub(x, multiple), m.number(x, 0));
  return ir.CreateFPToSI(low, MathBasics::with_lanes(ir.getInt32Ty(), x));
}

// Numbers from 2^63 to 2^64 are converted without their first bit.
Value* to_unsigned_64(const MathBasics& m, Value* x) {
  Ir& ir = m.ir();
  Value* is_large = ir.CreateAnd(ir.CreateFCmpOGE(x, m.number(x, 0x1p63)), m.less(x, 0x1p64));
  Value* integer = truncate_to(m, m.select(is_large, m.sub(x, 0x1p63), x), 64);
  Value* top = llvm::ConstantInt::get(integer->getType(), uint64_t{1} << 63);
  return ir.CreateSelect(is_large, ir.CreateXor(integer, top), integer);
}

}  // namespace

// Profiles with AVX2 or more have F16C.
Value* MathEmitter::half_to_factor(Value* bits) {
  if (profile_.isa == "generic") return widen_half(ir_, bits);
  llvm::Type* halves = MathBasics::with_lanes(ir_.getHalfTy(), bits);
  return ir_.CreateFPExt(ir_.CreateBitCast(bits, halves), floats_like(ir_, bits));
}

// The fence, which is no instruction, keeps LLVM from doing what follows, comparisons and
// selections, with halves: there are no vectors of these.
Value* MathEmitter::half_to_float(Value* bits) {
  Value* floats = half_to_factor(bits);
  return ir_.CreateArithmeticFence(floats, floats->getType());
}

Value* MathEmitter::float_to_half(Value* x) {
  if (profile_.isa == "generic") return narrow_to_half(ir_, x);
  llvm::Type* halves = MathBasics::with_lanes(ir_.getHalfTy(), x);
  return ir_.CreateBitCast(ir_.CreateFPTrunc(x, halves), halves_like(ir_, x));
}

Value* MathEmitter::bfloat_to_float(Value* bits) {
  Value* wide = ir_.CreateZExt(bits, MathBasics::with_lanes(ir_.getInt32Ty(), bits));
  return ir_.CreateBitCast(ir_.CreateShl(wide, word(ir_, bits, 16)), floats_like(ir_, bits));
}

Value* MathEmitter::float_to_bfloat(Value* x) {
  Value* bits = ir_.CreateBitCast(x, MathBasics::with_lanes(ir_.getInt32Ty(), x));
  Value* high = ir_.CreateLShr(bits, word(ir_, x, 16));
  Value* odd = ir_.CreateAnd(high, word(ir_, x, 1));
  Value* rounded = ir_.CreateAdd(ir_.CreateAdd(bits, word(ir_, x, 0x7fff)), odd);
  Value* quiet = ir_.CreateOr(high, word(ir_, x, 0x40));
  Value* result =
      ir_.CreateSelect(ir_.CreateFCmpUNO(x, x), quiet, ir_.CreateLShr(rounded, word(ir_, x, 16)));
  return ir_.CreateTrunc(result, halves_like(ir_, x));
}

Value* MathEmitter::float_to_int(Value* x, llvm::IntegerType* to, bool is_signed) {
  const MathBasics m(ir_, profile_, precision_);
  llvm::Type* type = MathBasics::with_lanes(to, x);
  const unsigned width = to->getBitWidth();
  if (width <= 16) return ir_.CreateTrunc(low_half(m, x), type);
  if (width == 32 && is_signed) return truncate_to(m, x, 32);
  if (width == 64 && !is_signed) return to_unsigned_64(m, x);
  return ir_.CreateTrunc(truncate_to(m, x, 64), type);
}

}  // namespace sluice
