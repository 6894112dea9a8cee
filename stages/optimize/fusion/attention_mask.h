// Says in Attention's terms what hides keys and adds to scores: is_causal and one mask.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "stages/optimize/fusion/attention_scores.h"
#include "stages/optimize/fusion/triangle.h"
#include "stages/optimize/node_maker.h"

namespace sluice {

struct AttentionMask {
  bool is_causal = false;
  double hidden_score = -std::numeric_limits<double>::infinity();  // where a mask of bools is false
  std::vector<ScoreStep> steps;                                    // which the mask does to zeros
};

// Reads the steps for scores [batch, heads, queries, keys]. Returns nothing where no mask has the
// same effect, and where the mask would be as large as the scores although no step's operand is.
//
// The mask is what the steps make of zeros. That adds the same to visible keys; a hidden key has a
// number that absorbs its score, or is false in a mask of bools, whose score AttentionMask names:
// so it is where a finite number is all that the steps change. Each row of a causal mask sees its
// own key, whose score is taken to be larger than the number for the others.
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
