// Says in Attention's terms what hides keys and adds to scores: is_causal and one mask.
#pragma once

#include <optional>
#include <vector>

#include "stages/optimize/fusion/attention_scores.h"
#include "stages/optimize/fusion/triangle.h"
#include "stages/optimize/node_maker.h"

namespace sluice {

struct AttentionMask {
  bool is_causal = false;
  std::vector<ScoreStep> steps;  // which the mask does to zeros
};

// Reads the steps for scores [batch, heads, queries, keys]. Returns nothing where no mask has the
// same effect, and where the mask would be as large as the scores although no step's operand is.
//
// The mask is what the steps make of zeros. That adds the same to visible keys; a hidden key has a
// number that absorbs its score. Where rows may be hidden whole, a number that is too small for
// that is taken only where nothing else is added, so that such a row has equal weights as before,
// and -inf, of which a softmax of a whole row is NaN, becomes a row of zeros. Each row of a causal
// mask sees its own key.
std::optional<AttentionMask> read_attention_mask(TriangleReader& triangles,
                                                 const std::vector<ScoreStep>& steps,
                                                 const std::vector<Dim>& scores);

// Where the sizes of scores are found.
struct ScoreSizes {
  std::vector<Dim> dims;  // [batch, heads, queries, keys]
  Value* queries = nullptr;
  size_t query_axis = 0;
  Value* keys = nullptr;
  size_t key_axis = 0;
};

// Returns the mask, which broadcasts to the scores, or null when there is none. Bools are false
// where a key is hidden. An operand whose size a step compares when it runs is expanded, which does
// so, too.
Value* make_attention_mask(NodeMaker& make, const AttentionMask& mask, const ScoreSizes& scores);

}  // namespace sluice
