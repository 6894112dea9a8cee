// What the models that end in scores share.
#pragma once

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

// X [N, F] times rows of coefficients, plus one intercept for each row (none when empty): f32 [N,
// rows].
Result<Value*> linear_scores(ExpandCall& call, const std::vector<float>& coefficients,
                             const std::vector<float>& intercepts, int64_t rows);

// Attribute 'post_transform', a name: NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT, of scores
// [N, E].
Result<Value*> transformed(ExpandCall& call, Value* scores, const std::string& name);

// Scores [N, 2] from those of the second of two classes [N, 1]: the first's is 1 - s, as of
// probabilities, else -s.
Value* both_classes(ExpandCall& call, Value* score, bool are_probabilities);

// The label of the largest score of each row: [N]. Labels are strings or numbers, by the attributes
// of these names.
Result<Value*> best_labels(ExpandCall& call, Value* scores, const std::string& strings,
                           const std::string& ints);
// How many labels there are.
size_t label_count(const ExpandCall& call, const std::string& strings, const std::string& ints);

}  // namespace sluice
