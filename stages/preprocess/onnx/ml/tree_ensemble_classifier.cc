// TreeEnsembleClassifier returns a score for each class, and the label of the best.
//
// Trees for two classes that assign weights to only one class produce the second's score s. The
// first's is then 1 - s where all weights are positive, as for probabilities, and no function
// follows; otherwise it is -s.
#include <algorithm>
#include <set>

#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/linear.h"
#include "stages/preprocess/onnx/ml/operators.h"
#include "stages/preprocess/onnx/ml/trees.h"

namespace sluice {
namespace {

using ClassifierTreeAttributes = ml_attributes::TreeEnsembleClassifier;

constexpr WeightAttributes kClassWeights{
    "class_…",
    ClassifierTreeAttributes::class_treeids,
    ClassifierTreeAttributes::class_nodeids,
    ClassifierTreeAttributes::class_ids,
    {ClassifierTreeAttributes::class_weights, ClassifierTreeAttributes::class_weights_as_tensor}};

}  // namespace

Result<void> expand_tree_ensemble_classifier(ExpandCall& call) {
  const size_t labels = label_count(call, ClassifierTreeAttributes::classlabels_strings,
                                    ClassifierTreeAttributes::classlabels_int64s);
  const std::vector<int64_t> ids = call.get(ClassifierTreeAttributes::class_ids);
  const std::string transform = call.get(ClassifierTreeAttributes::post_transform);
  const bool is_single = labels <= 2 && std::set<int64_t>(ids.begin(), ids.end()).size() == 1;
  SLUICE_ASSIGN(const std::vector<double> weights, reals_of(call, kClassWeights.weights));
  SLUICE_ASSIGN(const std::vector<double> base, reals_of(call, kBaseValues));
  SLUICE_ASSIGN(Value * scores,
                tree_scores(call, {kClassWeights, is_single ? 1 : static_cast<int64_t>(labels),
                                   "SUM", is_single}));
  scores = call.cast(scores, DType::kF32);
  if (is_single && !base.empty()) {
    scores = call.add(Op::kAdd, {scores, call.number(static_cast<float>(base.back()))});
  } else if (!base.empty()) {
    if (base.size() != labels)
      return call.bad("attribute 'base_values' has {} elements, expected {}", base.size(), labels);
    scores = call.add(Op::kAdd, {scores, call.floats({base.begin(), base.end()})});
  }
  const bool are_probabilities = (transform == "NONE" || transform == "PROBIT") &&
                                 std::ranges::all_of(weights, [](double w) { return w >= 0; });
  if (is_single && labels == 2) scores = both_classes(call, scores, are_probabilities);
  SLUICE_ASSIGN(call.results[0],
                best_labels(call, scores, ClassifierTreeAttributes::classlabels_strings,
                            ClassifierTreeAttributes::classlabels_int64s));
  if (!call.wants(1)) return {};
  SLUICE_ASSIGN(call.results[1], transformed(call, scores, transform));
  return {};
}

}  // namespace sluice
