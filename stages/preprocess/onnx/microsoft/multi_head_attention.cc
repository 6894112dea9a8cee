// MultiHeadAttention takes projections made before: Q, K and V separate, or packed, or K and V in
// the layout of a cache.
#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/heads.h"
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/microsoft/shared_buffer.h"

namespace sluice {
namespace {

using MultiHeadAttributes = microsoft_attributes::MultiHeadAttention;

struct Operands {
  Value* q;
  Value* k;
  Value* v;
  bool flat = false;  // [batch, sequence, heads * size]; otherwise [batch, heads, sequence, size]
};

// Handles one buffer for past and present, where the past's length is an input.
Result<void> attend_in_shared_buffer(ExpandCall& call, const Operands& x, int64_t heads) {
  const auto lies = [&](Value* operand) {
    return x.flat ? split_heads(call, operand, heads) : operand;
  };
  const SharedBuffer buffer{
      .past_key = 6, .past_value = 7, .length = 8, .indirection = 9, .mask = 4, .bias = 5};
  return attend_in_buffer(call, lies(x.q), lies(x.k), lies(x.v), buffer);
}

// Returns part `index` of [batch, sequence, heads, parts, size] as [batch, heads, sequence, size].
Value* packed_part(ExpandCall& call, Value* packed, int64_t index) {
  Value* part = call.add(Op::kGather, {packed, call.int_scalar(index)}, {{"axis", int64_t{3}}});
  return call.transpose(part, {0, 2, 1, 3});
}

// Reads a Q that is still [batch, sequence, heads * size], with K and V [batch, heads, sequence,
// size]: the bias is of Q alone.
Operands from_flat_query(ExpandCall& call, Value* k, Value* v, int64_t heads) {
  const Projections x = with_bias(call, call.input(3), {call.input(0), nullptr, nullptr});
  return {split_heads(call, x.q, heads), k, v, false};
}

Result<Operands> read_multi_head_operands(ExpandCall& call, int64_t heads) {
  SLUICE_ASSIGN(const int64_t q_rank, call.rank(0));
  if (q_rank == 5) {
    if (call.input(1) != nullptr || call.input(2) != nullptr)
      return call.bad("inputs 'key' and 'value' stand beside a packed query");
    if (call.input(3) != nullptr)
      return call.unsupported("a bias of packed operands is not supported");
    return Operands{packed_part(call, call.input(0), 0), packed_part(call, call.input(0), 1),
                    packed_part(call, call.input(0), 2), false};
  }
  if (q_rank != 3) return call.bad("input 0 'query' has rank {}, expected 3 or 5", q_rank);
  if (call.input(1) == nullptr)
    return call.bad("input 1 'key' is absent, and the query is not packed");
  SLUICE_ASSIGN(const int64_t k_rank, call.rank(1));
  if (k_rank == 5) {
    if (call.input(3) != nullptr)
      return call.unsupported("a bias of packed operands is not supported");
    return from_flat_query(call, packed_part(call, call.input(1), 0),
                           packed_part(call, call.input(1), 1), heads);
  }
  if (call.input(2) == nullptr)
    return call.bad("input 2 'value' is absent, and the key is not packed");
  if (k_rank == 4) return from_flat_query(call, call.input(1), call.input(2), heads);
  if (k_rank != 3) return call.bad("input 1 'key' has rank {}, expected 3, 4 or 5", k_rank);
  const Projections x =
      with_bias(call, call.input(3), {call.input(0), call.input(1), call.input(2)});
  return Operands{x.q, x.k, x.v, true};
}

}  // namespace

// The inputs are query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value,
// past_sequence_length, cache_indirection.
Result<void> expand_multi_head_attention(ExpandCall& call) {
  SLUICE_ASSIGN(const int64_t heads, head_count(call, MultiHeadAttributes::num_heads));
  if ((call.input(6) == nullptr) != (call.input(7) == nullptr))
    return call.bad("inputs 'past_key' and 'past_value' come together");
  if (call.wants(3)) return call.unsupported("output 3 'qk' is not supported");
  SLUICE_ASSIGN(const Operands x, read_multi_head_operands(call, heads));
  if (call.input(8) != nullptr) return attend_in_shared_buffer(call, x, heads);
  if (call.input(9) != nullptr)
    return call.bad("input 9 'cache_indirection' needs input 8 'past_sequence_length'");
  Value* keys = call.dim(x.k, x.flat ? 1 : 2);
  if (call.input(6) != nullptr) keys = call.add(Op::kAdd, {keys, call.dim(call.input(6), 2)});
  const ScoreSizes sizes{call.dim(x.q, 0), call.dim(x.q, x.flat ? 1 : 2), keys};
  SLUICE_ASSIGN(Value * mask, key_mask(call, 4, sizes, call.input(0)));
  mask = sum_of(call, mask, call.input(5));
  const bool presents = call.input(6) != nullptr || call.wants(1) || call.wants(2);
  Node& node = call.add_node(Op::kAttention, {x.q, x.k, x.v, mask, call.input(6), call.input(7)},
                             presents ? 3 : 1);
  if (x.flat) {
    node.set(attributes::Attention::q_num_heads, heads);
    node.set(attributes::Attention::kv_num_heads, heads);
  }
  if (const float scale = call.get(MultiHeadAttributes::scale); scale != 0)
    node.set(attributes::Attention::scale, scale);
  if (call.get(MultiHeadAttributes::unidirectional) != 0)
    node.set(attributes::Attention::is_causal, int64_t{1});
  call.results[0] = x.flat ? &node.output(0) : join_heads(call, &node.output(0));
  for (const size_t i : {1, 2}) {
    if (call.wants(i)) call.results[i] = &node.output(i);
  }
  return {};
}

}  // namespace sluice
