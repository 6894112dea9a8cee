// TreeEnsembleRegressor is TreeEnsemble by lists of nodes, as f32.
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/linear.h"
#include "stages/preprocess/onnx/ml/operators.h"
#include "stages/preprocess/onnx/ml/trees.h"

namespace sluice {
namespace {

using RegressorTreeAttributes = ml_attributes::TreeEnsembleRegressor;

constexpr WeightAttributes kTargetWeights{
    "target_…",
    RegressorTreeAttributes::target_treeids,
    RegressorTreeAttributes::target_nodeids,
    RegressorTreeAttributes::target_ids,
    {RegressorTreeAttributes::target_weights, RegressorTreeAttributes::target_weights_as_tensor}};

}  // namespace

Result<void> expand_tree_ensemble_regressor(ExpandCall& call) {
  TreeWeights weights{kTargetWeights, call.get(RegressorTreeAttributes::n_targets),
                      call.get(RegressorTreeAttributes::aggregate_function)};
  if (weights.aggregate != "SUM" && weights.aggregate != "AVERAGE" && weights.aggregate != "MIN" &&
      weights.aggregate != "MAX") {
    return call.bad("attribute 'aggregate_function' is '{}', expected AVERAGE, SUM, MIN or MAX",
                    weights.aggregate);
  }
  if (weights.targets < 1)
    return call.bad("attribute 'n_targets' is {}, expected at least 1", weights.targets);
  SLUICE_ASSIGN(Value * scores, tree_scores(call, weights));
  SLUICE_ASSIGN(const std::vector<double> base, reals_of(call, kBaseValues));
  if (!base.empty() && static_cast<int64_t>(base.size()) != weights.targets) {
    return call.bad("attribute 'base_values' has {} elements, expected {}", base.size(),
                    weights.targets);
  }
  scores = call.cast(scores, DType::kF32);
  if (!base.empty()) scores = call.add(Op::kAdd, {scores, call.floats({base.begin(), base.end()})});
  SLUICE_ASSIGN(call.results[0],
                transformed(call, scores, call.get(RegressorTreeAttributes::post_transform)));
  return {};
}

}  // namespace sluice
