#include "stages/optimize/fusion/epilogue_patterns.h"

namespace sluice {
namespace {

// Matches x * op(x): SiLU with Sigmoid, hard swish with HardSigmoid, …
Pattern gated_by(Op op) {
  Pattern pattern;
  Value& x = pattern.input("x");
  pattern.output(pattern.node(Op::kMul, {&x, &pattern.node(op, {&x})}));
  return pattern;
}

// Matches x * Clip(x + 3, 0, 6).
Pattern hard_swish() {
  Pattern pattern;
  Value& x = pattern.input("x");
  Value& sum = pattern.node(Op::kAdd, {&x, &pattern.constant()});
  Value& clipped = pattern.node(Op::kClip, {&sum, &pattern.constant(), &pattern.constant()});
  pattern.output(pattern.node(Op::kMul, {&x, &clipped}));
  return pattern;
}

// Matches x * (Clip(x + 3, 0, 6) / 6).
Pattern hard_swish_scaled(Op scale) {
  Pattern pattern;
  Value& x = pattern.input("x");
  Value& sum = pattern.node(Op::kAdd, {&x, &pattern.constant()});
  Value& clipped = pattern.node(Op::kClip, {&sum, &pattern.constant(), &pattern.constant()});
  pattern.output(
      pattern.node(Op::kMul, {&x, &pattern.node(scale, {&clipped, &pattern.constant()})}));
  return pattern;
}

enum class Half { kApart, kOnX, kOnSum };  // the position of the factor 0.5

// Matches x * (Erf(x / sqrt(2)) + 1), the argument scaled by Div or Mul.
Pattern gelu(Op scale, Half half) {
  Pattern pattern;
  Value* x = &pattern.input("x");
  Value& argument = pattern.node(scale, {x, &pattern.constant()});
  Value* sum = &pattern.node(Op::kAdd, {&pattern.node(Op::kErf, {&argument}), &pattern.constant()});
  if (half == Half::kOnX) x = &pattern.node(Op::kMul, {x, &pattern.constant()});
  if (half == Half::kOnSum) sum = &pattern.node(Op::kMul, {sum, &pattern.constant()});
  pattern.output(pattern.node(Op::kMul, {x, sum}));
  return pattern;
}

}  // namespace

std::vector<Pattern> epilogue_patterns() {
  std::vector<Pattern> patterns;
  for (const Op op : {Op::kSigmoid, Op::kHardSigmoid, Op::kTanh}) patterns.push_back(gated_by(op));
  patterns.push_back(hard_swish());
  for (const Op scale : {Op::kDiv, Op::kMul}) {
    patterns.push_back(hard_swish_scaled(scale));
    for (const Half half : {Half::kApart, Half::kOnX, Half::kOnSum})
      patterns.push_back(gelu(scale, half));
  }
  return patterns;
}

}  // namespace sluice
