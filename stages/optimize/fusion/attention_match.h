// Finds attention in the nodes that exporters write for it.
#pragma once

#include <optional>
#include <vector>

#include "stages/optimize/fusion/attention_mask.h"
#include "stages/optimize/fusion/attention_operand.h"
#include "stages/optimize/fusion/attention_scores.h"

namespace sluice {

// What the nodes around one softmax compute.
struct FoundAttention {
  AttentionScores scores;
  std::vector<Dim> by_head;  // [batch, heads, queries, keys]
  AttentionOperand q, k, v;
  AttentionMask mask;
  bool zeros_nan = false;  // weights that are NaN are made 0
};

// Reads all that the product of weights and values depends on. Returns nothing where it is no
// attention, or where sizes may or may not fit each other.
std::optional<FoundAttention> find_attention(TriangleReader& triangles, const Node& product);

}  // namespace sluice
