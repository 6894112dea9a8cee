// Combinations of scalar instructions that several families share.
#pragma once

#include "common/loop/lowering.h"

namespace sluice::loop {

inline InstructionId add(Lowering& l, InstructionId a, InstructionId b) {
  return l.scalar(ScalarOp::kAdd, a, b);
}
inline InstructionId sub(Lowering& l, InstructionId a, InstructionId b) {
  return l.scalar(ScalarOp::kSub, a, b);
}
inline InstructionId mul(Lowering& l, InstructionId a, InstructionId b) {
  return l.scalar(ScalarOp::kMul, a, b);
}
inline InstructionId div(Lowering& l, InstructionId a, InstructionId b) {
  return l.scalar(ScalarOp::kDiv, a, b);
}
inline InstructionId square(Lowering& l, InstructionId x) { return mul(l, x, x); }
inline InstructionId select(Lowering& l, InstructionId condition, InstructionId yes,
                            InstructionId no) {
  return l.scalar(ScalarOp::kSelect, condition, yes, no);
}

// The ends of a dtype's range; infinities for floats.
InstructionId lowest(Lowering& l, DType dtype);
InstructionId highest(Lowering& l, DType dtype);

// An extent, or another expression, as a number of a dtype.
InstructionId number_of(Lowering& l, DType dtype, ExpressionId value);

// A number of steps (f32), rounded half to even, plus the zero point (of dtype `to`, if there is
// one), saturated to `to`, an integer of at most 16 bits. NaN becomes the zero point.
InstructionId saturated_steps(Lowering& l, InstructionId steps, std::optional<InstructionId> zero,
                              DType to);

// x to a power of at least 0, by squaring; integers are modulo 2^bits.
InstructionId whole_power(Lowering& l, InstructionId x, int64_t exponent);

}  // namespace sluice::loop
