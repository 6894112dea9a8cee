// SVMRegressor computes a sum over support vectors, or, without any, a linear function.
//
//   score = rho + sum of coefficient[i] * kernel(x, vector[i])
//   LINEAR x·v   POLY (gamma x·v + coef0)^degree   RBF exp(-gamma |x - v|^2)
//   SIGMOID tanh(gamma x·v + coef0)
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/linear.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {
namespace {

using SVMRegressorAttributes = ml_attributes::SVMRegressor;

// Computes |x - v|^2 of each row with each vector, by differences: sums of squares would lose small
// distances.
Value* distances(ExpandCall& call, Value* x, Value* vectors) {
  Value* difference = call.add(Op::kSub, {call.unsqueeze(x, {1}), vectors});
  return call.add(Op::kReduceSumSquare, {difference, call.ints({-1})}, {{"keepdims", int64_t{0}}});
}

// Returns the kernel of x [N, F] and vectors [S, F]: [N, S].
Result<Value*> kernel_values(ExpandCall& call, Value* x, Value* vectors) {
  const std::string type = call.get(SVMRegressorAttributes::kernel_type);
  std::vector<float> parameters = call.get(SVMRegressorAttributes::kernel_params);
  parameters.resize(3);
  Value* gamma = call.number(parameters[0]);
  if (type == "RBF")
    return call.add(
        Op::kExp, {call.add(Op::kNeg, {call.add(Op::kMul, {distances(call, x, vectors), gamma})})});
  Value* products = call.add(Op::kMatMul, {x, call.transpose(vectors, {1, 0})});
  if (type == "LINEAR") return products;
  Value* inner =
      call.add(Op::kAdd, {call.add(Op::kMul, {products, gamma}), call.number(parameters[1])});
  if (type == "POLY") return call.add(Op::kPow, {inner, call.number(parameters[2])});
  if (type == "SIGMOID") return call.add(Op::kTanh, {inner});
  return call.bad("attribute 'kernel_type' is '{}', expected LINEAR, POLY, RBF or SIGMOID", type);
}

Result<Value*> supported(ExpandCall& call, const std::vector<float>& coefficients,
                         int64_t supports) {
  const std::vector<float> vectors = call.get(SVMRegressorAttributes::support_vectors);
  const auto count = static_cast<int64_t>(vectors.size());
  if (supports < 0 || count == 0 || count % supports != 0 ||
      static_cast<int64_t>(coefficients.size()) != supports) {
    return call.bad("{} support vectors do not fit {} numbers and {} coefficients", supports, count,
                    coefficients.size());
  }
  Value* x = call.cast(call.input(0), DType::kF32);
  SLUICE_ASSIGN(
      Value * values,
      kernel_values(call, x, call.reshape(call.floats(vectors), {supports, count / supports})));
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
