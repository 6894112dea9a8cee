// DynamicQuantizeLSTM is an LSTM whose weights are integers of 8 bits.
//
// W is [directions, input, 4 * hidden] and R [directions, hidden, 4 * hidden]: ONNX's transposed.
// The other operator quantizes X and h in every step by their own ranges to multiply integers; here
// they stay floats, which is the same up to that rounding.
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/operators.h"

namespace sluice {
namespace {

// Returns ONNX's weights for those of input `index`: (weights - zero points) * scales. A scale, and
// its zero point, is for a direction, or for each of its columns.
Result<Value*> weights(ExpandCall& call, size_t index, size_t scale, size_t zero_point) {
  SLUICE_ASSIGN(const int64_t rank, call.rank(scale));
  if (rank != 1 && rank != 2) return call.bad("input {} has rank {}, expected 1 or 2", scale, rank);
  const std::vector<int64_t> axes =
      rank == 1 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1};
  const auto spread = [&](size_t input) {
    return call.unsqueeze(call.cast(call.input(input), DType::kF32), axes);
  };
  Value* numbers = call.cast(call.input(index), DType::kF32);
  Value* offsets = call.add(Op::kSub, {numbers, spread(zero_point)});
  return call.transpose(call.add(Op::kMul, {offsets, spread(scale)}), {0, 2, 1});
}

}  // namespace

// The inputs are X, W, R, B, sequence_lens, initial_h, initial_c, P, then scale and zero point of W
// and of R.
Result<void> expand_dynamic_quantize_lstm(ExpandCall& call) {
  SLUICE_ASSIGN(Value * w, weights(call, 1, 8, 9));
  SLUICE_ASSIGN(Value * r, weights(call, 2, 10, 11));
  Node& lstm = call.add_node(Op::kLSTM,
                             {call.input(0), w, r, call.input(3), call.input(4), call.input(5),
                              call.input(6), call.input(7)},
                             call.results.size());
  using Attributes = microsoft_attributes::DynamicQuantizeLSTM;
  call.copy(lstm, Attributes::activation_alpha, Attributes::activation_beta,
            Attributes::activations, Attributes::clip, Attributes::direction,
            Attributes::hidden_size, Attributes::input_forget);
  for (size_t i = 0; i < call.results.size(); ++i)
    if (call.wants(i)) call.results[i] = &lstm.output(i);
  return {};
}

}  // namespace sluice
