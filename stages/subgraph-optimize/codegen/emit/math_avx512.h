// The three AVX-512 instructions that take floats apart and put them together, for values of any
// number of lanes (Intel SDM volume 2: VSCALEF, VGETEXP, VGETMANT).
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace sluice {

// Returns x * 2^n, rounded once; n is an integral float.
llvm::Value* avx512_scale(llvm::IRBuilder<>& ir, llvm::Value* x, llvm::Value* n);
// Returns floor(log2(|x|)) as a float: -infinity for 0, infinity for infinities.
llvm::Value* avx512_exponent(llvm::IRBuilder<>& ir, llvm::Value* x);
// Returns x * 2^k in [3/4, 3/2): 1 for zeros and infinity, NaN for negative numbers.
llvm::Value* avx512_mantissa(llvm::IRBuilder<>& ir, llvm::Value* x);

}  // namespace sluice
