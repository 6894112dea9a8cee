// Attention attends one sequence to itself, with the projections inside.
#include "stages/preprocess/onnx/microsoft/heads.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {

// The inputs are input, weights, bias, mask_index, past, attention_bias, past_sequence_length.
Result<void> expand_attention(ExpandCall& call) {
  if (call.input(6) != nullptr)
    return call.unsupported(
        "input 6 'past_sequence_length' is of shared buffers and is not supported");
  Value* projection = call.add(Op::kMatMul, {call.input(0), call.input(1)});
  projection = sum_of(call, projection, call.input(2));
  return attend_to_itself(call, projection, {.mask = 3, .past = 4, .bias = 5});
}

}  // namespace sluice
