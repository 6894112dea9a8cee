// LinearClassifier returns a score for each class, and the label of the best. One score for two
// classes is that of the second: it wins above zero.
#include <algorithm>

#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/linear.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

using LinearClassifierAttributes = ml_attributes::LinearClassifier;

Result<void> expand_linear_classifier(ExpandCall& call) {
  const size_t labels = label_count(call, LinearClassifierAttributes::classlabels_strings,
                                    LinearClassifierAttributes::classlabels_ints);
  const std::vector<float> intercepts = call.get(LinearClassifierAttributes::intercepts);
  const bool is_single = labels == 2 && intercepts.size() == 1;
  const auto rows = static_cast<int64_t>(is_single ? 1 : labels);
  SLUICE_ASSIGN(
      Value * scores,
      linear_scores(call, call.get(LinearClassifierAttributes::coefficients), intercepts, rows));
  Value* compared = is_single ? both_classes(call, scores, false) : scores;
  SLUICE_ASSIGN(call.results[0],
                best_labels(call, compared, LinearClassifierAttributes::classlabels_strings,
                            LinearClassifierAttributes::classlabels_ints));
  if (!call.wants(1)) return {};
  const std::string transform = call.get(LinearClassifierAttributes::post_transform);
  if (is_single && (transform == "NONE" || transform == "PROBIT")) {
    SLUICE_ASSIGN(Value * second, transformed(call, scores, transform));
    call.results[1] = both_classes(call, second, true);
    return {};
  }
  SLUICE_ASSIGN(call.results[1], transformed(call, compared, transform));
  return {};
}

}  // namespace sluice
