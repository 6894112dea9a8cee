// The parts that models with scores share.
#pragma once

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

// Multiplies X [N, F] by rows of coefficients and adds one intercept for each row (none when
// empty): f32 [N, rows].
Result<Value*> linear_scores(ExpandCall& call, const std::vector<float>& coefficients,
                             const std::vector<float>& intercepts, int64_t rows);

// Applies attribute 'post_transform', a name: NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT, to
// scores [N, E].
Result<Value*> transformed(ExpandCall& call, Value* scores, const std::string& name);

// Returns scores [N, 2] from those of the second of two classes [N, 1]: the first's is 1 - s for
// probabilities, otherwise -s.
Value* both_classes(ExpandCall& call, Value* score, bool are_probabilities);

// Returns the label of the largest score of each row: [N]. Labels are strings or numbers, whichever
// of these attributes the node has.
Result<Value*> best_labels(ExpandCall& call, Value* scores, const StringsAttribute& strings,
                           const IntsAttribute& ints);
// Returns the number of labels.
size_t label_count(const ExpandCall& call, const StringsAttribute& strings,
                   const IntsAttribute& ints);

}  // namespace sluice
