// SkipSimplifiedLayerNormalization computes RMSNormalization of input + skip (+ bias). Skip may be
// [1, S, H] or [S, H]. The normalization needs no mean; where it is asked for, it is that of the
// sum, in f32, as SkipLayerNormalization computes it.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/normalization.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

Result<void> expand_skip_simplified_layer_normalization(ExpandCall& call) {
  const float epsilon = call.get(microsoft_attributes::SkipLayerNormalization::epsilon);
  Value* sum = call.add(Op::kAdd, {call.input(0), call.input(1)});
  if (call.input(3) != nullptr) sum = call.add(Op::kAdd, {sum, call.input(3)});
  call.results[0] = rms_normalization(call, sum, call.input(2), -1, epsilon);
  if (call.wants(1)) call.results[1] = mean_of(call, call.cast(sum, DType::kF32), {-1});
  if (call.wants(2)) call.results[2] = inverse_rms(call, sum, {-1}, epsilon);
  if (call.wants(3)) call.results[3] = sum;
  return {};
}

}  // namespace sluice
