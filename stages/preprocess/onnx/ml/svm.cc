#include "stages/preprocess/onnx/ml/svm.h"

namespace sluice {
namespace {

// Computes |x - v|^2 of each row with each vector, by differences: sums of squares would lose small
// distances.
Value* distances(ExpandCall& call, Value* x, Value* vectors) {
  Value* difference = call.add(Op::kSub, {call.unsqueeze(x, {1}), vectors});
  return call.add(Op::kReduceSumSquare, {difference, call.ints({-1})}, {{"keepdims", int64_t{0}}});
}

// Checks that the vectors have as many elements as rows of the input, where that is known.
Result<void> check_features(const ExpandCall& call, int64_t features) {
  const Type& type = call.input(0)->type();
  if (!type.is_tensor() || !type.ranked || type.dims.empty() || !type.dims.back().is_fixed() ||
      type.dims.back().value == features) {
    return {};
  }
  return call.bad("its support vectors have {} features, the input has {}", features,
                  type.dims.back().value);
}

}  // namespace

Result<Value*> kernel_values(ExpandCall& call, SupportVectors vectors) {
  const auto elements = static_cast<int64_t>(vectors.elements.size());
  if (vectors.count < 1 || elements == 0 || elements % vectors.count != 0)
    return call.bad("attribute 'support_vectors' has {} elements, which make no {} vectors",
                    elements, vectors.count);
  SLUICE_TRY(check_features(call, elements / vectors.count));
  Value* x = call.cast(call.input(0), DType::kF32);
  Value* v = call.reshape(call.floats(vectors.elements), {vectors.count, elements / vectors.count});
  vectors.parameters.resize(3);
  Value* gamma = call.number(vectors.parameters[0]);
  const std::string& kernel = vectors.kernel;
  if (kernel == "RBF")
    return call.add(Op::kExp,
                    {call.add(Op::kNeg, {call.add(Op::kMul, {distances(call, x, v), gamma})})});
  Value* products = call.add(Op::kMatMul, {x, call.transpose(v, {1, 0})});
  if (kernel == "LINEAR") return products;
  Value* inner = call.add(
      Op::kAdd, {call.add(Op::kMul, {products, gamma}), call.number(vectors.parameters[1])});
  if (kernel == "POLY") return call.add(Op::kPow, {inner, call.number(vectors.parameters[2])});
  if (kernel == "SIGMOID") return call.add(Op::kTanh, {inner});
  return call.bad("attribute 'kernel_type' is '{}', expected LINEAR, POLY, RBF or SIGMOID", kernel);
}

}  // namespace sluice
