#include "stages/subgraph-optimize/codegen/emit/bf16_pairs.h"

#include <llvm/IR/IntrinsicsX86.h>

namespace sluice {

using llvm::Value;

Value* Bf16Pairs::bits_of(Value* floats) {
  llvm::Type* word = b_.ir().getInt32Ty();
  return b_.ir().CreateBitCast(floats, floats->getType()->getWithNewType(word));
}

Value* Bf16Pairs::load(Value* pointer) {
  return b_.ir().CreateAlignedLoad(b_.float_type(), pointer, llvm::Align(2));
}

Value* Bf16Pairs::load_vector(Value* pointer, int lanes) {
  return b_.ir().CreateAlignedLoad(b_.vector_type(lanes), pointer, llvm::Align(2));
}

Value* Bf16Pairs::join(Value* low, Value* high) {
  Value* joined = b_.ir().CreateLShr(bits_of(low), 16);
  if (high != nullptr) joined = b_.ir().CreateOr(joined, bits_of(high));
  return b_.ir().CreateBitCast(joined, low->getType());
}

Value* Bf16Pairs::widened(Value* pairs, int half) {
  Value* bits = bits_of(pairs);
  bits = half == 0 ? b_.ir().CreateShl(bits, 16) : b_.ir().CreateAnd(bits, 0xffff0000);
  return b_.ir().CreateBitCast(bits, pairs->getType());
}

Value* Bf16Pairs::add_products(Value* sums, Value* a, Value* b) {
  const auto lanes = llvm::cast<llvm::FixedVectorType>(sums->getType())->getNumElements();
  const llvm::Intrinsic::ID dot = lanes == 16  ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512
                                  : lanes == 8 ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256
                                               : llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128;
  auto* type = llvm::FixedVectorType::get(llvm::Type::getBFloatTy(b_.ir().getContext()), 2 * lanes);
  const auto factors = [&](Value* pairs) { return b_.ir().CreateBitCast(pairs, type); };
  return b_.ir().CreateIntrinsic(dot, {}, {sums, factors(a), factors(b)});
}

}  // namespace sluice
