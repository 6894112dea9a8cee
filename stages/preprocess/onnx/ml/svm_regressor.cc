// SVMRegressor computes a sum over support vectors, or, without any, a linear function.
//
//   score = rho + sum of coefficient[i] * kernel(x, vector[i])
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/linear.h"
#include "stages/preprocess/onnx/ml/operators.h"
#include "stages/preprocess/onnx/ml/svm.h"

namespace sluice {
namespace {

using SVMRegressorAttributes = ml_attributes::SVMRegressor;

Result<Value*> supported(ExpandCall& call, const std::vector<float>& coefficients,
                         int64_t supports) {
  if (static_cast<int64_t>(coefficients.size()) != supports)
    return call.bad("{} support vectors do not fit {} coefficients", supports, coefficients.size());
  SLUICE_ASSIGN(Value * values,
                kernel_values(call, {call.get(SVMRegressorAttributes::kernel_type),
                                     call.get(SVMRegressorAttributes::kernel_params),
                                     call.get(SVMRegressorAttributes::support_vectors), supports}));
  return call.add(Op::kMatMul, {values, call.reshape(call.floats(coefficients), {supports, 1})});
}

}  // namespace

Result<void> expand_svm_regressor(ExpandCall& call) {
  const std::vector<float> coefficients = call.get(SVMRegressorAttributes::coefficients);
  const std::vector<float> rho = call.get(SVMRegressorAttributes::rho);
  const int64_t supports = call.get(SVMRegressorAttributes::n_supports);
  SLUICE_ASSIGN(Value * score, supports == 0 ? linear_scores(call, coefficients, {}, 1)
                                             : supported(call, coefficients, supports));
  if (!rho.empty()) score = call.add(Op::kAdd, {score, call.number(rho[0])});
  if (call.get(SVMRegressorAttributes::one_class) != 0) {
    Value* inside = call.add(Op::kGreater, {score, call.number(0)});
    call.results[0] = call.add(Op::kWhere, {inside, call.number(1), call.number(-1)});
    return {};
  }
  SLUICE_ASSIGN(call.results[0],
                transformed(call, score, call.get(SVMRegressorAttributes::post_transform)));
  return {};
}

}  // namespace sluice
