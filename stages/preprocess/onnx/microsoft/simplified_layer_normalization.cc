// SimplifiedLayerNormalization is RMSNormalization with a second result, the factor that x is
// multiplied by.
#include <numeric>

#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/normalization.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

using SimplifiedAttributes = microsoft_attributes::LayerNormalization;

Value* rms_normalization(ExpandCall& call, Value* x, Value* scale, int64_t axis, float epsilon) {
  return call.add(Op::kRMSNormalization, {x, scale}, {{"axis", axis}, {"epsilon", epsilon}});
}

Value* mean_of(ExpandCall& call, Value* x, std::vector<int64_t> axes) {
  return call.add(Op::kReduceMean, {x, call.ints(std::move(axes))}, {{"keepdims", int64_t{1}}});
}

Value* inverse_rms(ExpandCall& call, Value* x, std::vector<int64_t> axes, float epsilon) {
  Value* exact = call.cast(x, DType::kF32);
  Value* mean = mean_of(call, call.add(Op::kMul, {exact, exact}), std::move(axes));
  return call.add(Op::kReciprocal,
                  {call.add(Op::kSqrt, {call.add(Op::kAdd, {mean, call.number(epsilon)})})});
}

Result<void> expand_simplified_layer_normalization(ExpandCall& call) {
  int64_t axis = call.get(SimplifiedAttributes::axis);
  const float epsilon = call.get(SimplifiedAttributes::epsilon);
  if (call.get(SimplifiedAttributes::stash_type) != 1)
    return call.unsupported("attribute 'stash_type' is {}, supported is 1",
                            call.get(SimplifiedAttributes::stash_type));
  Value* x = as_scaled(call, call.input(0), call.input(1));
  call.results[0] = rms_normalization(call, x, call.input(1), axis, epsilon);
  if (!call.wants(1)) return {};
  if (axis >= 0) {
    SLUICE_ASSIGN(const int64_t rank, call.rank(0));
    axis -= rank;
  }
  if (axis >= 0 || axis < -64)
    return call.bad("attribute 'axis' is {}, which no axis of input 'X' has",
                    call.get(SimplifiedAttributes::axis));
  std::vector<int64_t> axes(static_cast<size_t>(-axis));
  std::iota(axes.begin(), axes.end(), axis);
  call.results[1] = inverse_rms(call, call.input(0), std::move(axes), epsilon);
  return {};
}

}  // namespace sluice
