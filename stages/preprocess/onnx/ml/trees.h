// The trees of TreeEnsembleRegressor and TreeEnsembleClassifier become one TreeEnsemble.
#pragma once

#include <string>
#include <vector>

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

// Returns the numbers of attribute "<name>" or of the tensor "<name>_as_tensor"; none when both are
// absent.
Result<std::vector<double>> reals_attribute(ExpandCall& call, const std::string& name);

struct TreeWeights {
  std::string prefix;  // "target_" or "class_"
  int64_t targets = 1;
  std::string aggregate = "SUM";  // or AVERAGE, MIN, MAX
  bool one_target = false;        // all weights are target 0's, whatever their ids
};

// Returns the scores of X [N, F], base_values left out: [N, targets], f64 for an X of f64,
// otherwise f32.
Result<Value*> tree_scores(ExpandCall& call, const TreeWeights& weights);

}  // namespace sluice
