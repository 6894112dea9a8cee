// Reads the scores of attention backwards, from a softmax to the product of queries and keys.
#pragma once

#include <optional>
#include <vector>

#include "stages/optimize/fusion/decomposition.h"

namespace sluice {

// One node between the scaled products and the softmax. It adds `bias` to the scores, or makes them
// `hidden` where the condition is `hides`.
struct ScoreStep {
  Value* bias = nullptr;
  Value* condition = nullptr;
  bool hides = true;
  double hidden = 0;
  bool is_joint = false;  // the scores have batch and heads in one axis there
};

struct AttentionScores {
  Node* product = nullptr;  // the MatMul of queries and transposed keys
  double scale = 1;
  double softcap = 0;            // 0: none
  std::vector<ScoreStep> steps;  // as they are computed
  // The shape of the scores with batch and heads apart, where the product has them in one axis.
  std::optional<std::vector<Dim>> by_head;
};

// Strips Casts between f32, f16 and bf16, which attention computes in f32, from a value.
Value& behind_float_casts(Value& value);

// Strips these and all factors; the shape stays.
Scaled read_all_factors(Value& value);

// Reads MatMul, then factors, then softcap * Tanh(scores / softcap), then steps. Between them may
// be Casts between narrow floats, and Reshapes that part or join batch and heads.
std::optional<AttentionScores> read_attention_scores(Value& scores);

}  // namespace sluice
