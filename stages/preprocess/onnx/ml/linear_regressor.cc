// LinearRegressor returns a score for each target.
#include "stages/preprocess/onnx/ml/linear.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

Result<void> expand_linear_regressor(ExpandCall& call) {
  SLUICE_ASSIGN(Value * scores, linear_scores(call, call.floats_attribute("coefficients"),
                                              call.floats_attribute("intercepts"),
                                              call.int_attribute("targets", 1)));
  SLUICE_ASSIGN(call.results[0],
                transformed(call, scores, call.string_attribute("post_transform", "NONE")));
  return {};
}

}  // namespace sluice
