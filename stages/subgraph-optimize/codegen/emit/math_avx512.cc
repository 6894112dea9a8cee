#include "stages/subgraph-optimize/codegen/emit/math_avx512.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "stages/subgraph-optimize/codegen/emit/math_basics.h"

namespace sluice {
namespace {

using llvm::Value;

unsigned lanes_of(const Value* x) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return vector == nullptr ? 1 : vector->getNumElements();
}

// Returns the lanes [first, first + count) of x; those past its end are unspecified.
Value* lanes_at(Ir& ir, Value* x, unsigned first, unsigned count) {
  std::vector<int> lanes(count);
  for (unsigned i = 0; i < count; ++i)
    lanes[i] = first + i < lanes_of(x) ? static_cast<int>(first + i) : -1;
  return ir.CreateShuffleVector(x, lanes);
}

// Returns `whole` with `part` in the lanes from `first` on.
Value* with_part(Ir& ir, Value* whole, Value* part, unsigned first) {
  const unsigned count = lanes_of(whole);
  std::vector<int> lanes(count);
  std::iota(lanes.begin(), lanes.end(), 0);
  for (unsigned i = first; i < std::min(first + lanes_of(part), count); ++i)
    lanes[i] = static_cast<int>(count + i - first);
  return ir.CreateShuffleVector(whole, lanes_at(ir, part, 0, count), lanes);
}

using Emit = std::function<Value*(const std::vector<Value*>&)>;

// Applies `emit` to vectors that fill registers of 128, 256 or 512 bits.
Value* by_registers(Ir& ir, const std::vector<Value*>& arguments, const Emit& emit) {
  llvm::Type* type = arguments[0]->getType();
  if (!type->isVectorTy()) {
    std::vector<Value*> vectors;
    for (Value* argument : arguments) vectors.push_back(ir.CreateVectorSplat(1, argument));
    return ir.CreateExtractElement(by_registers(ir, vectors, emit), uint64_t{0});
  }
  const unsigned lanes = lanes_of(arguments[0]), bits = type->getScalarSizeInBits();
  unsigned step = 128 / bits;
  while (step < lanes && step * bits < 512) step *= 2;
  if (step == lanes) return emit(arguments);
  Value* result = llvm::PoisonValue::get(type);
  for (unsigned first = 0; first < lanes; first += step) {
    std::vector<Value*> parts;
    for (Value* argument : arguments) parts.push_back(lanes_at(ir, argument, first, step));
    result = with_part(ir, result, emit(parts), first);
  }
  return result;
}

// The numbers of the variants of an instruction, in the order of the table below.
struct Variants {
  llvm::Intrinsic::ID single[3], wide[3];
};

constexpr Variants kScale = {
    {llvm::Intrinsic::x86_avx512_mask_scalef_ps_128, llvm::Intrinsic::x86_avx512_mask_scalef_ps_256,
     llvm::Intrinsic::x86_avx512_mask_scalef_ps_512},
    {llvm::Intrinsic::x86_avx512_mask_scalef_pd_128, llvm::Intrinsic::x86_avx512_mask_scalef_pd_256,
     llvm::Intrinsic::x86_avx512_mask_scalef_pd_512}};
constexpr Variants kExponent = {
    {llvm::Intrinsic::x86_avx512_mask_getexp_ps_128, llvm::Intrinsic::x86_avx512_mask_getexp_ps_256,
     llvm::Intrinsic::x86_avx512_mask_getexp_ps_512},
    {llvm::Intrinsic::x86_avx512_mask_getexp_pd_128, llvm::Intrinsic::x86_avx512_mask_getexp_pd_256,
     llvm::Intrinsic::x86_avx512_mask_getexp_pd_512}};
constexpr Variants kMantissa = {{llvm::Intrinsic::x86_avx512_mask_getmant_ps_128,
                                 llvm::Intrinsic::x86_avx512_mask_getmant_ps_256,
                                 llvm::Intrinsic::x86_avx512_mask_getmant_ps_512},
                                {llvm::Intrinsic::x86_avx512_mask_getmant_pd_128,
                                 llvm::Intrinsic::x86_avx512_mask_getmant_pd_256,
                                 llvm::Intrinsic::x86_avx512_mask_getmant_pd_512}};

// Emits one instruction on full registers: its operands, what masked lanes become, the mask (all
// lanes) and, for 512 bits, the current rounding.
Value* full_register(Ir& ir, const Variants& variants, std::vector<Value*> operands) {
  llvm::Type* type = operands[0]->getType();
  const bool wide = type->getScalarType()->isDoubleTy();
  const unsigned lanes = lanes_of(operands[0]), bits = lanes * type->getScalarSizeInBits();
  const int variant = bits == 128 ? 0 : bits == 256 ? 1 : 2;
  operands.push_back(llvm::Constant::getNullValue(type));
  operands.push_back(llvm::ConstantInt::getAllOnesValue(ir.getIntNTy(std::max(lanes, 8u))));
  if (bits == 512) operands.push_back(ir.getInt32(4));
  return ir.CreateIntrinsic(wide ? variants.wide[variant] : variants.single[variant], {}, operands);
}

}  // namespace

Value* avx512_scale(Ir& ir, Value* x, Value* n) {
  return by_registers(ir, {x, n}, [&](const std::vector<Value*>& a) {
    return full_register(ir, kScale, {a[0], a[1]});
  });
}

Value* avx512_exponent(Ir& ir, Value* x) {
  return by_registers(
      ir, {x}, [&](const std::vector<Value*>& a) { return full_register(ir, kExponent, {a[0]}); });
}

Value* avx512_mantissa(Ir& ir, Value* x) {
  constexpr uint32_t kInterval = 3, kNoSignAndNegativeIsNan = 3;
  return by_registers(ir, {x}, [&](const std::vector<Value*>& a) {
    return full_register(ir, kMantissa,
                         {a[0], ir.getInt32(kInterval | kNoSignAndNegativeIsNan << 2)});
  });
}

}  // namespace sluice
