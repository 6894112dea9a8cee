// LinearRegressor returns a score for each target.
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/linear.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

using LinearRegressorAttributes = ml_attributes::LinearRegressor;

Result<void> expand_linear_regressor(ExpandCall& call) {
  SLUICE_ASSIGN(Value * scores,
                linear_scores(call, call.get(LinearRegressorAttributes::coefficients),
                              call.get(LinearRegressorAttributes::intercepts),
                              call.get(LinearRegressorAttributes::targets)));
  SLUICE_ASSIGN(call.results[0],
                transformed(call, scores, call.get(LinearRegressorAttributes::post_transform)));
  return {};
}

}  // namespace sluice
