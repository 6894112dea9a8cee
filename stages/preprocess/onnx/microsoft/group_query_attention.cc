// GroupQueryAttention computes attention of decoders, where several query heads share a key head,
// with rotary embedding and a cache.
//
// Row b of the batch has seqlens_k[b] + 1 keys; keys after them are not visible. The row's new keys
// begin at start[b] = seqlens_k[b] + 1 - sequence, or at 0 in a padded prompt. Present is as long
// as the past or as total_sequence_length, whichever is more: a past that contains no more than its
// keys is continued by the new ones, a buffer for the longest sequence is filled and keeps its
// size.
#include <limits>
#include <optional>

#include "common/ir/states.h"
#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/microsoft/attributes.h"
#include "stages/preprocess/onnx/microsoft/heads.h"
#include "stages/preprocess/onnx/microsoft/operators.h"
#include "stages/preprocess/onnx/microsoft/shared_buffer.h"

namespace sluice {
namespace {

using GroupQueryAttributes = microsoft_attributes::GroupQueryAttention;

struct Grouped {
  int64_t q_heads = 0;
  int64_t kv_heads = 0;
  Value* q = nullptr;  // [batch, heads, sequence, size]
  Value* k = nullptr;
  Value* v = nullptr;
  Value* start = nullptr;  // [batch]
  Value* batch = nullptr;
  Value* sequence = nullptr;
};

enum class PastUse { kAppended, kFilled, kEither };

Result<void> check_grouped_form(const ExpandCall& call) {
  for (const StringAttribute& attribute :
       {GroupQueryAttributes::k_quant_type, GroupQueryAttributes::v_quant_type}) {
    const std::string kind = call.get(attribute);
    if (kind != "NONE")
      return call.unsupported("attribute '{}' is '{}': a quantized cache is not supported",
                              attribute.name, kind);
  }
  for (const size_t i : {12, 13}) {
    if (call.input(i) != nullptr)
      return call.unsupported("input {} is of a quantized cache, which is not supported", i);
  }
  if (call.get(GroupQueryAttributes::sliding_window_cache) != 0)
    return call.unsupported("attribute 'sliding_window_cache' is not supported");
  if (call.get(GroupQueryAttributes::qk_output) != 0 || call.wants(3))
    return call.unsupported("output 3 'output_qk' is not supported");
  if ((call.input(3) == nullptr) != (call.input(4) == nullptr))
    return call.bad("inputs 'past_key' and 'past_value' come together");
  if ((call.input(1) == nullptr) != (call.input(2) == nullptr))
    return call.bad("inputs 'key' and 'value' come together");
  if ((call.input(14) == nullptr) != (call.input(15) == nullptr))
    return call.bad("inputs 'q_norm_weight' and 'k_norm_weight' come together");
  if (call.get(GroupQueryAttributes::causal) == 0 &&
      call.get(GroupQueryAttributes::local_window_size) != -1) {
    return call.bad("attribute 'local_window_size' is {}, expected -1 where 'causal' is 0",
                    call.get(GroupQueryAttributes::local_window_size));
  }
  const bool rotates = call.get(GroupQueryAttributes::do_rotary) != 0;
  if (rotates && (call.input(7) == nullptr || call.input(8) == nullptr))
    return call.bad("attribute 'do_rotary' needs inputs 'cos_cache' and 'sin_cache'");
  return {};
}

void read_grouped_operands(ExpandCall& call, Grouped& x) {
  if (call.input(1) != nullptr) {
    x.q = split_heads(call, call.input(0), x.q_heads);
    x.k = split_heads(call, call.input(1), x.kv_heads);
    x.v = split_heads(call, call.input(2), x.kv_heads);
    return;
  }
  Value* packed = split_heads(call, call.input(0), x.q_heads + 2 * x.kv_heads);
  Node& parts = call.add_node(Op::kSplit, {packed, call.ints({x.q_heads, x.kv_heads, x.kv_heads})},
                              3, {{"axis", int64_t{1}}});
  x.q = &parts.output(0);
  x.k = &parts.output(1);
  x.v = &parts.output(2);
}

void read_sizes(ExpandCall& call, Grouped& x) {
  x.batch = call.dim(call.input(0), 0);
  x.sequence = call.dim(call.input(0), 1);
  Value* totals = call.add(
      Op::kAdd, {call.reshape(call.cast(call.input(5), DType::kI64), {-1}), call.ints({1})});
  x.start = call.add(Op::kMax, {call.add(Op::kSub, {totals, x.sequence}), call.ints({0})});
}

Value* normalized(ExpandCall& call, Value* x, size_t weight) {
  if (call.input(weight) == nullptr) return x;
  return call.add(
      Op::kRMSNormalization, {x, call.input(weight)},
      {{"axis", int64_t{-1}}, {"epsilon", call.get(GroupQueryAttributes::qk_norm_epsilon)}});
}

Value* rotated(ExpandCall& call, Value* x, Value* positions) {
  Node& node = call.add_node(Op::kRotaryEmbedding, {x, call.input(7), call.input(8), positions}, 1,
                             {{"interleaved", call.get(GroupQueryAttributes::rotary_interleaved)}});
  const Type& table = call.input(7)->type();
  const bool known =
      table.is_tensor() && table.ranked && table.rank() == 2 && table.dims[1].is_fixed();
  if (known) node.set(attributes::RotaryEmbedding::rotary_embedding_dim, 2 * table.dims[1].value);
  return &node.output();
}

void rotate(ExpandCall& call, Grouped& x) {
  if (call.get(GroupQueryAttributes::do_rotary) == 0) return;
  Value* positions = call.input(9);
  if (positions == nullptr)
    positions = call.add(Op::kAdd, {call.unsqueeze(x.start, {1}), indices(call, x.sequence)});
  x.q = rotated(call, x.q, positions);
  x.k = rotated(call, x.k, positions);
}

std::optional<ExpressionId> size_of(ExpandCall& call, const Value* value, size_t axis) {
  const Type& type = value->type();
  if (!type.is_tensor() || !type.ranked || type.dims.size() <= axis) return std::nullopt;
  return call.graph.module().dim_expression(type.dims[axis]);
}

// Returns what is known about total_sequence_length relative to the past's length. A state that is
// appended to contains its keys and no more.
PastUse past_use(ExpandCall& call, const Value* past) {
  ExpressionTable& expressions = call.graph.module().expressions;
  const auto before = size_of(call, past, 2);
  const bool is_open = !before || !expressions.as_constant(*before);
  if (is_open && past->is_input() && is_state_input(std::string(call.states), past->name()))
    return PastUse::kAppended;
  const auto sequence = size_of(call, call.input(0), 1);
  const auto* total = call.facts == nullptr ? nullptr : call.facts->find(*call.input(6));
  if (!before || !sequence || total == nullptr || total->size() != 1) return PastUse::kEither;
  const ExpressionId after = total->front();
  if (expressions.prove_equal(after, expressions.add(*before, *sequence)))
    return PastUse::kAppended;
  return expressions.bounds(expressions.subtract(*before, after)).low >= 0 ? PastUse::kFilled
                                                                           : PastUse::kEither;
}

// Returns the past, at least as long as total_sequence_length.
Value* lengthened(ExpandCall& call, const Grouped& x, Value* past) {
  Value* total = call.reshape(call.cast(call.input(6), DType::kI64), {1});
  Value* before = call.dim(past, 2);
  Value* missing = call.add(Op::kSub, {call.add(Op::kMax, {total, before}), before});
  Value* shape = call.concat({x.batch, call.ints({x.kv_heads}), missing, call.dim(past, 3)}, 0);
  return call.concat({past, call.add(Op::kExpand, {call.number(0, past), shape})}, 2);
}

// Returns the past with the new rows after the valid ones of each row of the batch.
Value* present(ExpandCall& call, const Grouped& x, Value* past, Value* now) {
  if (past == nullptr) return now;
  const PastUse use = past_use(call, past);
  if (use == PastUse::kFilled) return fill_buffer(call, past, now, x.start);
  if (use == PastUse::kEither) return fill_buffer(call, lengthened(call, x, past), now, x.start);
  const Type& type = past->type();
  const bool one_row =
      type.is_tensor() && type.ranked && !type.dims.empty() && type.dims[0] == Dim::fixed(1);
  Value* joint = call.concat({past, now}, 2);
  return one_row ? joint : fill_buffer(call, joint, now, x.start);
}

// Returns which keys each query sees, [batch, 1, sequence, keys].
Value* seen_by_groups(ExpandCall& call, const Grouped& x, Value* keys) {
  Value* start = call.reshape(x.start, {-1, 1, 1, 1});
  if (call.get(GroupQueryAttributes::causal) == 0) {
    Value* totals = call.reshape(
        call.add(Op::kAdd, {call.cast(call.input(5), DType::kI64), call.ints({1})}), {-1, 1, 1, 1});
    return call.add(Op::kLess, {indices(call, keys), totals});
  }
  Value* last = call.add(Op::kAdd, {start, call.unsqueeze(indices(call, x.sequence), {1})});
  Value* places = indices(call, keys);
  Value* keep = call.add(Op::kLessOrEqual, {places, last});
  const int64_t window = call.get(GroupQueryAttributes::local_window_size);
  if (window < 0) return keep;
  Value* inside =
      call.add(Op::kGreater, {places, call.add(Op::kSub, {last, call.int_scalar(window)})});
  return call.add(Op::kAnd, {keep, inside});
}

// Adds a sink, which adds its weight to the sum of the softmax and nothing to the result: a key
// with this score and a value of zeros.
Value* add_sink(ExpandCall& call, Grouped& x, Value* mask, Value* keys) {
  Value* sink = call.number(0, call.input(0));
  if (call.input(11) != nullptr) sink = call.reshape(call.input(11), {1, -1, 1, 1});
  for (Value** operand : {&x.k, &x.v}) {
    Value* shape = call.concat({x.batch, call.ints({x.kv_heads, 1}), call.dim(*operand, 3)}, 0);
    Value* zeros = call.add(Op::kExpand, {call.number(0, call.input(0)), shape});
    *operand = call.concat({*operand, zeros}, 2);
  }
  Value* rows = call.concat({x.batch, call.ints({x.q_heads}), x.sequence}, 0);
  Value* column = call.add(Op::kExpand, {sink, call.concat({rows, call.ints({1})}, 0)});
  return call.concat({call.add(Op::kExpand, {mask, call.concat({rows, keys}, 0)}), column}, 3);
}

}  // namespace

// The inputs are query, key, value, past_key, past_value, seqlens_k, total_sequence_length,
// cos_cache, sin_cache, position_ids, attention_bias, head_sink, k_scale, v_scale, q_norm_weight,
// k_norm_weight.
Result<void> expand_group_query_attention(ExpandCall& call) {
  SLUICE_TRY(check_grouped_form(call));
  Grouped x;
  SLUICE_ASSIGN(x.q_heads, head_count(call, GroupQueryAttributes::num_heads));
  SLUICE_ASSIGN(x.kv_heads, head_count(call, GroupQueryAttributes::kv_num_heads));
  if (x.q_heads % x.kv_heads != 0)
    return call.bad("{} query heads cannot be divided among {} key heads", x.q_heads, x.kv_heads);
  read_grouped_operands(call, x);
  read_sizes(call, x);
  x.q = normalized(call, x.q, 14);
  x.k = normalized(call, x.k, 15);
  rotate(call, x);
  x.k = present(call, x, call.input(3), x.k);
  x.v = present(call, x, call.input(4), x.v);
  if (call.wants(1)) call.results[1] = x.k;
  if (call.wants(2)) call.results[2] = x.v;
  Value* keys = call.dim(x.k, 2);
  Value* mask = blocked_where_not(call, seen_by_groups(call, x, keys),
                                  -std::numeric_limits<float>::infinity(), call.input(0));
  if (call.input(10) != nullptr)
    mask = call.add(Op::kAdd, {mask, fit_to_keys(call, call.input(10), keys)});
  if (call.get(GroupQueryAttributes::smooth_softmax) == 1 || call.input(11) != nullptr)
    mask = add_sink(call, x, mask, keys);
  Node& node = call.add_node(Op::kAttention, {x.q, x.k, x.v, mask}, 1);
  if (const float scale = call.get(GroupQueryAttributes::scale); scale != 0)
    node.set(attributes::Attention::scale, scale);
  if (const float cap = call.get(GroupQueryAttributes::softcap); cap != 0)
    node.set(attributes::Attention::softcap, cap);
  call.results[0] = join_heads(call, &node.output());
  return {};
}

}  // namespace sluice
