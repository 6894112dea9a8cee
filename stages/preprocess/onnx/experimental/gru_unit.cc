// GRUUnit computes one time step of a GRU, after its matrix products. Gates [1, N, 3 * D] are
// reset, update and candidate of each row, where the reset has been applied before; a row whose
// sequence ends before step t keeps its state, or loses it.
#include "stages/preprocess/onnx/experimental/attributes.h"
#include "stages/preprocess/onnx/experimental/operators.h"

namespace sluice {

// The inputs are hidden_prev [1, N, D], gates, seq_lengths [N] and t (one element).
Result<void> expand_gru_unit(ExpandCall& call) {
  Value* hidden = call.input(0);
  Value* size = call.dim(hidden, -1);
  Node& gates = call.add_node(Op::kSplit, {call.input(1), call.concat({size, size, size}, 0)}, 3,
                              {{"axis", int64_t{-1}}});
  Value* update = call.add(Op::kSigmoid, {&gates.output(1)});
  Value* candidate = call.add(Op::kTanh, {&gates.output(2)});
  Value* remainder = call.add(Op::kSub, {call.number(1, hidden), update});
  Value* next = call.add(
      Op::kAdd, {call.add(Op::kMul, {hidden, update}), call.add(Op::kMul, {candidate, remainder})});
  Value* lengths = call.reshape_to(call.input(2), {call.dim(hidden, -2), call.ints({1})});
  Value* step = call.add(Op::kCastLike, {call.reshape(call.input(3), {1}), lengths});
  Value* ended = call.get(experimental_attributes::GRUUnit::drop_states) != 0
                     ? call.number(0, hidden)
                     : hidden;
  call.results[0] = call.add(Op::kWhere, {call.add(Op::kLess, {step, lengths}), next, ended});
  return {};
}

}  // namespace sluice
