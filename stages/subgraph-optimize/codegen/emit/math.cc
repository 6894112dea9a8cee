#include "stages/subgraph-optimize/codegen/emit/math.h"

#include "stages/subgraph-optimize/codegen/emit/math_functions.h"

namespace sluice {

using llvm::Value;

// High precision computes f32 in f64.
bool MathEmitter::widens(const Value* x) const {
  return precision_ == MathPrecision::kHigh && !MathBasics::is_double(x);
}

Value* MathEmitter::emit(Function function, Value* x, bool widen) {
  const MathBasics m(ir_, profile_, precision_);
  return widen ? m.narrow(function(m, m.widen(x))) : function(m, x);
}

Value* MathEmitter::exp(Value* x) { return emit(emit_exp, x, widens(x)); }
Value* MathEmitter::expm1(Value* x) { return emit(emit_expm1, x, widens(x)); }
Value* MathEmitter::log(Value* x) { return emit(emit_log, x, widens(x)); }
Value* MathEmitter::log1p(Value* x) { return emit(emit_log1p, x, widens(x)); }
Value* MathEmitter::asin(Value* x) { return emit(emit_asin, x, widens(x)); }
Value* MathEmitter::acos(Value* x) { return emit(emit_acos, x, widens(x)); }
Value* MathEmitter::atan(Value* x) { return emit(emit_atan, x, widens(x)); }
Value* MathEmitter::sinh(Value* x) { return emit(emit_sinh, x, widens(x)); }
Value* MathEmitter::cosh(Value* x) { return emit(emit_cosh, x, widens(x)); }
Value* MathEmitter::tanh(Value* x) { return emit(emit_tanh, x, widens(x)); }
Value* MathEmitter::asinh(Value* x) { return emit(emit_asinh, x, widens(x)); }
Value* MathEmitter::acosh(Value* x) { return emit(emit_acosh, x, widens(x)); }
Value* MathEmitter::atanh(Value* x) { return emit(emit_atanh, x, widens(x)); }
Value* MathEmitter::erf(Value* x) { return emit(emit_erf, x, widens(x)); }
Value* MathEmitter::sigmoid(Value* x) { return emit(emit_sigmoid, x, widens(x)); }

// Without fused multiply-add, f64 is shorter than a reduction of f32 in many parts.
Value* MathEmitter::sin(Value* x) { return emit(emit_sin, x, widens_angle(x)); }
Value* MathEmitter::cos(Value* x) { return emit(emit_cos, x, widens_angle(x)); }
Value* MathEmitter::tan(Value* x) { return emit(emit_tan, x, widens_angle(x)); }

bool MathEmitter::widens_angle(const Value* x) const {
  return widens(x) || (!MathBasics::is_double(x) && !profile_.fused_multiply_add);
}

Value* MathEmitter::pow(Value* x, Value* y) {
  const MathBasics m(ir_, profile_, precision_);
  if (!widens(x)) return emit_pow(m, x, y);
  return m.narrow(emit_pow(m, m.widen(x), m.widen(y)));
}

Value* MathEmitter::remainder(Value* x, Value* y) {
  const MathBasics m(ir_, profile_, precision_);
  if (MathBasics::is_double(x)) return emit_remainder(m, x, y);
  return m.narrow(emit_remainder(m, m.widen(x), m.widen(y)));
}

// A sum of f32 in f64, rounded to f32, is the sum in f32.
Value* MathEmitter::floor_modulus(Value* x, Value* y) {
  const MathBasics m(ir_, profile_, precision_);
  if (!MathBasics::is_double(x)) return m.narrow(floor_modulus(m.widen(x), m.widen(y)));
  Value* result = emit_remainder(m, x, y);
  Value* is_nonzero = ir_.CreateFCmpUNE(result, m.number(x, 0));
  Value* signs_differ = ir_.CreateXor(m.less(result, 0.0), m.less(y, 0.0));
  return m.select(ir_.CreateAnd(is_nonzero, signs_differ), m.add(result, y), result);
}

Value* MathEmitter::sqrt(Value* x) { return MathBasics(ir_, profile_, precision_).sqrt(x); }
Value* MathEmitter::abs(Value* x) { return MathBasics(ir_, profile_, precision_).abs(x); }
Value* MathEmitter::floor(Value* x) { return MathBasics(ir_, profile_, precision_).floor(x); }
Value* MathEmitter::ceil(Value* x) { return MathBasics(ir_, profile_, precision_).ceil(x); }
Value* MathEmitter::round(Value* x) { return MathBasics(ir_, profile_, precision_).round(x); }

Value* MathEmitter::reciprocal(Value* x) {
  return ir_.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1), x);
}

// The machine's max returns its second operand when either is NaN; so a constant goes first, and
// only two non-constants need a second comparison.
Value* MathEmitter::maximum(Value* x, Value* y) {
  if (llvm::isa<llvm::Constant>(y)) std::swap(x, y);
  Value* larger = ir_.CreateSelect(ir_.CreateFCmpOGT(x, y), x, y);
  if (llvm::isa<llvm::Constant>(x)) return larger;
  return ir_.CreateSelect(ir_.CreateFCmpUNO(x, x), x, larger);
}

Value* MathEmitter::minimum(Value* x, Value* y) {
  if (llvm::isa<llvm::Constant>(y)) std::swap(x, y);
  Value* smaller = ir_.CreateSelect(ir_.CreateFCmpOLT(x, y), x, y);
  if (llvm::isa<llvm::Constant>(x)) return smaller;
  return ir_.CreateSelect(ir_.CreateFCmpUNO(x, x), x, smaller);
}

}  // namespace sluice
