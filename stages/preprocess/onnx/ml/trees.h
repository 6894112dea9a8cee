// The trees of TreeEnsembleRegressor and TreeEnsembleClassifier become one TreeEnsemble.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stages/preprocess/onnx/expand_call.h"
#include "stages/preprocess/onnx/ml/attributes.h"

namespace sluice {

// Numbers that a node has as a list, or, since version 3, as a tensor.
struct RealsAttribute {
  FloatsAttribute floats;
  TensorAttribute tensor;
};
inline constexpr RealsAttribute kBaseValues{ml_attributes::TreeNodes::base_values,
                                            ml_attributes::TreeNodes::base_values_as_tensor};

// Returns none when both are absent.
Result<std::vector<double>> reals_of(ExpandCall& call, const RealsAttribute& attribute);

// The attributes that list the weights of leaves.
struct WeightAttributes {
  std::string_view together;  // what messages call them
  IntsAttribute trees;
  IntsAttribute nodes;
  IntsAttribute ids;
  RealsAttribute weights;
};

struct TreeWeights {
  WeightAttributes attributes;
  int64_t targets = 1;
  std::string aggregate = "SUM";  // or AVERAGE, MIN, MAX
  bool one_target = false;        // all weights are target 0's, whatever their ids
};

// Returns the scores of X [N, F], base_values left out: [N, targets], f64 for an X of f64,
// otherwise f32.
Result<Value*> tree_scores(ExpandCall& call, const TreeWeights& weights);

}  // namespace sluice
