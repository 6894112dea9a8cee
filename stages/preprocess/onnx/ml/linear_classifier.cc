// LinearClassifier returns a score for each class, and the label of the best. One score for two
// classes is that of the second: it wins above zero.
#include <algorithm>

#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/linear.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

using LinearClassifierAttributes = ml_attributes::LinearClassifier;

namespace {

// The coefficients: of more than features x rows the first ones count, as in ONNX Runtime.
std::vector<float> coefficients_of(ExpandCall& call, int64_t rows) {
  std::vector<float> given = call.get(LinearClassifierAttributes::coefficients);
  const Type& type = call.input(0)->type();
  const bool is_known = type.is_tensor() && type.ranked && !type.dims.empty() && rows > 0 &&
                        type.dims.back().is_fixed();
  const int64_t features = is_known ? type.dims.back().value : 0;
  const auto count = static_cast<int64_t>(given.size());
  if (features < 1 || count % rows != 0 || count / rows <= features) return given;
  call.graph.module().warnings.add(
      Leniency::kCoefficients,
      fmt::format("{}: it has coefficients for {} features, the input has {}: the first {} count",
                  call.label(), count / rows, features, rows * features));
  given.resize(static_cast<size_t>(rows * features));
  return given;
}

}  // namespace

Result<void> expand_linear_classifier(ExpandCall& call) {
  const size_t labels = label_count(call, LinearClassifierAttributes::classlabels_strings,
                                    LinearClassifierAttributes::classlabels_ints);
  const std::vector<float> intercepts = call.get(LinearClassifierAttributes::intercepts);
  const bool is_single = labels == 2 && intercepts.size() == 1;
  const auto rows = static_cast<int64_t>(is_single ? 1 : labels);
  SLUICE_ASSIGN(Value * scores, linear_scores(call, coefficients_of(call, rows), intercepts, rows));
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
