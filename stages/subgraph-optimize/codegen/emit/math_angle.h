// The reduction of large angles.
#pragma once

#include "stages/subgraph-optimize/codegen/emit/math_basics.h"

namespace sluice {

// x = n pi + remainder; for cosines n - 1/2 is integral, else n.
struct ReducedAngle {
  llvm::Value* remainder = nullptr;
  llvm::Value* parity =
      nullptr;  // integers as wide as x, whose low bit is that of (the integral) n
};

constexpr double kLargeAngle = 0x1p17;

// Replaces `small` in the lanes where |x| > kLargeAngle. Ends the block: the others are a branch
// that is taken when there is such a lane.
ReducedAngle with_large_angles(const MathBasics& m, llvm::Value* x, const ReducedAngle& small,
                               bool is_cosine);

}  // namespace sluice
