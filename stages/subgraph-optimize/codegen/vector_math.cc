#include "stages/subgraph-optimize/codegen/vector_math.h"

#include <llvm/IR/Intrinsics.h>

#include <initializer_list>

namespace sluice {
namespace {

using llvm::Value;

int lanes_of(Value* x) {
  return static_cast<int>(llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements());
}

// Evaluates a polynomial by Horner's rule; coefficients go from the highest power down.
Value* polynomial(KernelBuilder& b, Value* x, std::initializer_list<float> coefficients) {
  const int lanes = lanes_of(x);
  Value* sum = nullptr;
  for (float c : coefficients)
    sum = sum ? b.multiply_add(sum, x, b.splat(c, lanes)) : b.splat(c, lanes);
  return sum;
}

// Limits x to [low, high]; the order of the operands lets a NaN through.
Value* clamp(KernelBuilder& b, Value* x, float low, float high) {
  const int lanes = lanes_of(x);
  Value* l = b.splat(low, lanes);
  Value* h = b.splat(high, lanes);
  x = b.ir().CreateSelect(b.ir().CreateFCmpOGT(l, x), l, x);
  return b.ir().CreateSelect(b.ir().CreateFCmpOLT(h, x), h, x);
}

// Returns 2^n for a vector of i32 in [-126, 127].
Value* power_of_two(KernelBuilder& b, Value* n, int lanes) {
  auto& ir = b.ir();
  Value* biased = ir.CreateAdd(n, ir.CreateVectorSplat(lanes, ir.getInt32(127)));
  return ir.CreateBitCast(ir.CreateShl(biased, ir.CreateVectorSplat(lanes, ir.getInt32(23))),
                          b.vector_type(lanes));
}

}  // namespace

// Uses Cody-Waite reduction: x = n ln 2 + r with |r| <= ln 2 / 2, e^x = 2^n e^r. 2^n is two
// factors, so that results up to the largest float and down to zero come out right. Adding 1.5 *
// 2^23 rounds to nearest and leaves n in the low bits, without a conversion that is undefined for
// NaN.
Value* emit_exp(KernelBuilder& b, Value* x) {
  auto& ir = b.ir();
  const int lanes = lanes_of(x);
  llvm::Type* ints = llvm::FixedVectorType::get(ir.getInt32Ty(), lanes);
  x = clamp(b, x, -104.0f, 89.0f);
  Value* magic = b.splat(12582912.0f, lanes);
  Value* shifted = b.multiply_add(x, b.splat(1.44269504f, lanes), magic);
  Value* n = ir.CreateFSub(shifted, magic);
  Value* r = b.multiply_add(n, b.splat(-0.693359375f, lanes), x);
  r = b.multiply_add(n, b.splat(2.12194440e-4f, lanes), r);
  Value* p = polynomial(
      b, r, {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f});
  Value* whole = ir.CreateSub(ir.CreateBitCast(shifted, ints), ir.CreateBitCast(magic, ints));
  Value* half = ir.CreateAShr(whole, ir.CreateVectorSplat(lanes, ir.getInt32(1)));
  p = ir.CreateFMul(p, power_of_two(b, half, lanes));
  return ir.CreateFMul(p, power_of_two(b, ir.CreateSub(whole, half), lanes));
}

// Computes x P(x^2) / Q(x^2), fitted for minimal relative error on |x| <= 8, where tanh is 1 within
// 3e-7.
Value* emit_tanh(KernelBuilder& b, Value* x) {
  x = clamp(b, x, -8.0f, 8.0f);
  Value* y = b.ir().CreateFMul(x, x);
  Value* p = polynomial(b, y,
                        {-1.156425984e-13f, 6.365516020e-11f, -2.231462888e-08f, 1.164243560e-05f,
                         3.149363942e-03f, 1.312434907e-01f, 9.999999982e-01f});
  Value* q = polynomial(b, y, {2.612973123e-04f, 2.467499729e-02f, 4.645768057e-01f, 1.0f});
  return clamp(b, b.ir().CreateFDiv(b.ir().CreateFMul(x, p), q), -1.0f, 1.0f);
}

// Computes the same form on |x| <= 3.92, where erf rounds to 1.
Value* emit_erf(KernelBuilder& b, Value* x) {
  x = clamp(b, x, -3.92f, 3.92f);
  Value* y = b.ir().CreateFMul(x, x);
  Value* p = polynomial(b, y,
                        {1.992430085e-08f, -1.957845080e-06f, 1.418517412e-04f, 3.701652482e-03f,
                         5.057345628e-02f, 1.999254404e-01f, 1.128379109e+00f});
  Value* q = polynomial(
      b, y, {9.560503218e-04f, 1.435328750e-02f, 1.149987982e-01f, 5.105109631e-01f, 1.0f});
  return clamp(b, b.ir().CreateFDiv(b.ir().CreateFMul(x, p), q), -1.0f, 1.0f);
}

Value* emit_sigmoid(KernelBuilder& b, Value* x) {
  Value* one = b.splat(1.0f, lanes_of(x));
  return b.ir().CreateFDiv(one, b.ir().CreateFAdd(one, emit_exp(b, b.ir().CreateFNeg(x))));
}

// The machine's max returns its second operand when either is NaN; so a constant goes first, and
// only two non-constants need a second comparison.
Value* emit_max(KernelBuilder& b, Value* a, Value* c) {
  if (llvm::isa<llvm::Constant>(c)) std::swap(a, c);
  auto& ir = b.ir();
  Value* larger = ir.CreateSelect(ir.CreateFCmpOGT(a, c), a, c);
  if (llvm::isa<llvm::Constant>(a)) return larger;
  return ir.CreateSelect(ir.CreateFCmpUNO(a, a), a, larger);
}

Value* emit_min(KernelBuilder& b, Value* a, Value* c) {
  if (llvm::isa<llvm::Constant>(c)) std::swap(a, c);
  auto& ir = b.ir();
  Value* smaller = ir.CreateSelect(ir.CreateFCmpOLT(a, c), a, c);
  if (llvm::isa<llvm::Constant>(a)) return smaller;
  return ir.CreateSelect(ir.CreateFCmpUNO(a, a), a, smaller);
}

}  // namespace sluice
