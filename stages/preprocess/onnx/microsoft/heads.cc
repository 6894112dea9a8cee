#include "stages/preprocess/onnx/microsoft/heads.h"

#include <algorithm>

#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/microsoft/attributes.h"

namespace sluice {
namespace {

// QAttention has all of these but qkv_hidden_sizes.
using AttentionAttributes = microsoft_attributes::Attention;

// Returns elements [from, from + batch) of a vector as [batch, 1, 1, 1].
Value* per_row(ExpandCall& call, Value* vector, Value* from, Value* batch) {
  Value* to = call.add(Op::kAdd, {from, batch});
  return call.reshape(call.cast(call.slice(vector, from, to, 0), DType::kI64), {-1, 1, 1, 1});
}

// Keeps keys from `starts` up to `ends`. A vector of ends alone is continued by zeros, which are
// its starts.
Result<Value*> ranges_keep(ExpandCall& call, size_t input, const ScoreSizes& sizes) {
  Value* mask = call.input(input);
  const Dim& given = mask->type().dims[0];
  const Type& first = call.input(0)->type();
  const bool known = given.is_fixed() && first.is_tensor() && first.ranked && !first.dims.empty() &&
                     first.dims[0].is_fixed();
  if (known && given.value != first.dims[0].value && given.value != 2 * first.dims[0].value) {
    return call.unsupported(
        "a mask of {} elements for a batch of {} is not supported, expected one or two for each "
        "row",
        given.value, first.dims[0].value);
  }
  Value* zeros = call.add(Op::kExpand, {call.int_like(0, mask), sizes.batch});
  Value* vector = call.concat({mask, zeros}, 0);
  Value* keys = indices(call, sizes.keys);
  Value* before_end =
      call.add(Op::kLess, {keys, per_row(call, vector, call.ints({0}), sizes.batch)});
  Value* from_start =
      call.add(Op::kGreaterOrEqual, {keys, per_row(call, vector, sizes.batch, sizes.batch)});
  return call.add(Op::kAnd, {before_end, from_start});
}

// Returns the rows of the queries, which are the last of the keys, of a square mask of the longest
// sequence.
Value* cut_square(ExpandCall& call, Value* mask, const ScoreSizes& sizes) {
  Value* rows = call.slice(mask, call.add(Op::kSub, {sizes.keys, sizes.queries}), sizes.keys, 2);
  return call.slice(rows, call.ints({0}), sizes.keys, 3);
}

}  // namespace

Result<int64_t> head_count(const ExpandCall& call, const IntAttribute& attribute) {
  const int64_t heads = call.get(attribute);
  if (heads < 1 || heads > INT32_MAX)
    return call.bad("attribute '{}' is {}, expected 1 to {}", attribute.name, heads, INT32_MAX);
  return heads;
}

Value* split_heads(ExpandCall& call, Value* x, int64_t heads) {
  return call.transpose(call.reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}
Value* join_heads(ExpandCall& call, Value* x) {
  return call.reshape(call.transpose(x, {0, 2, 1, 3}), {0, 0, -1});
}

Projections with_bias(ExpandCall& call, Value* bias, const Projections& x) {
  if (bias == nullptr) return x;
  Value* end_q = call.dim(x.q, -1);
  Value* q = call.add(Op::kAdd, {x.q, call.slice(bias, call.ints({0}), end_q, 0)});
  if (x.k == nullptr) return {q, nullptr, nullptr};
  Value* end_k = call.add(Op::kAdd, {end_q, call.dim(x.k, -1)});
  Value* end_v = call.add(Op::kAdd, {end_k, call.dim(x.v, -1)});
  Value* k = call.add(Op::kAdd, {x.k, call.slice(bias, end_q, end_k, 0)});
  return {q, k, call.add(Op::kAdd, {x.v, call.slice(bias, end_k, end_v, 0)})};
}

Value* indices(ExpandCall& call, Value* count) {
  return call.range(call.int_scalar(0), call.add(Op::kSqueeze, {count, call.ints({0})}));
}

Value* blocked_where_not(ExpandCall& call, Value* keep, float blocked, Value* like) {
  return call.add(Op::kWhere, {keep, call.number(0, like), call.number(blocked, like)});
}

Value* sum_of(ExpandCall& call, Value* a, Value* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return call.add(Op::kAdd, {a, b});
}

Result<Value*> key_mask(ExpandCall& call, size_t input, const ScoreSizes& sizes, Value* like) {
  Value* mask = call.input(input);
  if (mask == nullptr) return static_cast<Value*>(nullptr);
  SLUICE_ASSIGN(const int64_t rank, call.rank(input));
  if (rank < 1 || rank > 4) return call.bad("the mask has rank {}, expected 1 to 4", rank);
  Value* keep = nullptr;
  if (rank == 1) {
    SLUICE_ASSIGN(keep, ranges_keep(call, input, sizes));
  } else {
    Value* spread = mask;
    if (rank == 2) spread = call.unsqueeze(mask, {1, 2});
    if (rank == 3) spread = call.unsqueeze(mask, {1});
    if (rank == 4) spread = cut_square(call, mask, sizes);
    keep = call.cast(spread, DType::kBool);
  }
  return blocked_where_not(call, keep, call.get(AttentionAttributes::mask_filter_value), like);
}

namespace {

// Splits the projection into Q, K and V, [batch, sequence, hidden] each.
Result<std::vector<Value*>> split_projection(ExpandCall& call, Value* projection) {
  const std::vector<int64_t> sizes = call.get(AttentionAttributes::qkv_hidden_sizes);
  if (!sizes.empty() && (sizes.size() != 3 || sizes[0] != sizes[1] ||
                         std::ranges::any_of(sizes, [](int64_t s) { return s < 1; }))) {
    return call.bad(
        "attribute 'qkv_hidden_sizes' must hold three positive sizes, the first two equal");
  }
  Node& node = sizes.empty() ? call.add_node(Op::kSplit, {projection}, 3,
                                             {{"axis", int64_t{-1}}, {"num_outputs", int64_t{3}}})
                             : call.add_node(Op::kSplit, {projection, call.ints(sizes)}, 3,
                                             {{"axis", int64_t{-1}}});
  return std::vector<Value*>{&node.output(0), &node.output(1), &node.output(2)};
}

Value* half_of(ExpandCall& call, Value* pair, int64_t index) {
  return pair == nullptr
             ? nullptr
             : call.add(Op::kGather, {pair, call.int_scalar(index)}, {{"axis", int64_t{0}}});
}

}  // namespace

Result<void> attend_to_itself(ExpandCall& call, Value* projection,
                              const SelfAttentionInputs& inputs) {
  SLUICE_ASSIGN(const int64_t heads, head_count(call, AttentionAttributes::num_heads));
  if (call.get(AttentionAttributes::do_rotary) != 0)
    return call.unsupported(
        "attribute 'do_rotary' is not supported: its angles are not in the model");
  if (call.get(AttentionAttributes::past_present_share_buffer) != 0) {
    return call.unsupported(
        "attribute 'past_present_share_buffer' is not supported: past and present must be values "
        "of their own");
  }
  SLUICE_ASSIGN(const std::vector<Value*> qkv, split_projection(call, projection));
  Value* past = call.input(inputs.past);
  Value* sequence = call.dim(call.input(0), 1);
  const ScoreSizes sizes{
      call.dim(call.input(0), 0), sequence,
      past == nullptr ? sequence : call.add(Op::kAdd, {sequence, call.dim(past, 3)})};
  SLUICE_ASSIGN(Value * mask, key_mask(call, inputs.mask, sizes, projection));
  mask = sum_of(call, mask, call.input(inputs.bias));
  Node& node = call.add_node(
      Op::kAttention,
      {qkv[0], qkv[1], qkv[2], mask, half_of(call, past, 0), half_of(call, past, 1)},
      past != nullptr || call.wants(1) ? 3 : 1, {{"q_num_heads", heads}, {"kv_num_heads", heads}});
  if (const float scale = call.get(AttentionAttributes::scale); scale != 0)
    node.set(attributes::Attention::scale, scale);
  if (call.get(AttentionAttributes::unidirectional) != 0)
    node.set(attributes::Attention::is_causal, int64_t{1});
  call.results[0] = &node.output(0);
  if (call.wants(1))
    call.results[1] = call.concat(
        {call.unsqueeze(&node.output(1), {0}), call.unsqueeze(&node.output(2), {0})}, 0);
  return {};
}

}  // namespace sluice
