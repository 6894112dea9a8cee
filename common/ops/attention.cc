// Attention, the ops of its caches and states, and their relatives.
#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/bodies.h"
#include "common/ops/families.h"
#include "common/ops/refine.h"

namespace sluice {
namespace {

// Dtypes of ops for which the standard has no f64.
constexpr uint32_t kNarrowFloatSet = dtype_set({DType::kF16, DType::kBF16, DType::kF32});

// Reads an attribute that must be positive.
Result<int64_t> heads_attribute(const InferCall& call, const IntAttribute& attribute) {
  const int64_t heads = call.node.get(attribute);
  if (heads < 1)
    return call.bad_node("attribute '{}' is {}, expected at least 1", attribute.name, heads);
  return heads;
}

// The sizes of one operand: [batch, heads, sequence, size], or [batch, sequence, heads * size] with
// the number of heads as an attribute.
struct Heads {
  Dim batch;
  Dim heads;
  Dim sequence;
  Dim size;
};

Result<Heads> read_heads(InferCall& call, size_t index, const IntAttribute& attribute) {
  SLUICE_TRY(call.expect_rank(index, 3, 4));
  const Shape shape = call.shape(index);
  if (!shape) return Heads{};
  if (shape->size() == 4) return Heads{(*shape)[0], (*shape)[1], (*shape)[2], (*shape)[3]};
  SLUICE_ASSIGN(const int64_t heads, heads_attribute(call, attribute));
  SLUICE_TRY(call.expect_multiple(
      shape->back(), heads, fmt::format("elements of {} for all heads", call.input_name(index))));
  return Heads{(*shape)[0], Dim::fixed(heads), (*shape)[1],
               call.math.floor_divide(shape->back(), heads)};
}

// Checks that one number of heads is a multiple of the other, where both are known.
Result<void> check_groups(const InferCall& call, const Dim& query, const Dim& key) {
  if (!query.is_fixed() || !key.is_fixed() || (key.value > 0 && query.value % key.value == 0))
    return {};
  return call.bad_shape("{} query heads cannot be divided among {} key heads", query.value,
                        key.value);
}

// Checks floats that are computed in one precision: f64 only with f64.
Result<void> expect_computed_alike(const InferCall& call, size_t index, size_t other) {
  SLUICE_TRY(call.expect_dtype(index, kFloatSet));
  const bool is_double = call.dtype(index) == DType::kF64 || call.dtype(other) == DType::kF64;
  return is_double ? call.expect_same_dtype(index, other) : Result<void>();
}

// Infers Q, K, V, mask, past key, past value -> Y, present key, present value, scores.
Result<void> infer_attention(InferCall& call) {
  SLUICE_TRY(expect_computed_alike(call, 2, 0));
  SLUICE_TRY(call.expect_dtype(6, kIndexSet));
  SLUICE_TRY(call.expect_dtype(3, kRealSet));
  SLUICE_TRY(call.expect_same_dtype(4, 1));
  SLUICE_TRY(call.expect_same_dtype(5, 2));
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_same_dtype(1, 0));
  SLUICE_TRY(call.expect_rank(4, 4));
  SLUICE_TRY(call.expect_rank(5, 4));
  if (call.has_input(4) != call.has_input(5))
    return call.bad_node("past key and past value come together");
  SLUICE_ASSIGN(const Heads q, read_heads(call, 0, attributes::Attention::q_num_heads));
  SLUICE_ASSIGN(const Heads k, read_heads(call, 1, attributes::Attention::kv_num_heads));
  SLUICE_ASSIGN(const Heads v, read_heads(call, 2, attributes::Attention::kv_num_heads));
  SLUICE_TRY(call.unify(q.size, k.size, "head sizes of query and key"));
  SLUICE_TRY(call.unify(k.sequence, v.sequence, "sequence lengths of key and value"));
  SLUICE_ASSIGN(const Dim kv_heads, call.unify(k.heads, v.heads, "heads of key and value"));
  SLUICE_TRY(check_groups(call, q.heads, kv_heads));
  SLUICE_ASSIGN(const Dim batch, call.unify(q.batch, k.batch, "batch dims of query and key"));
  const Dim past = call.has_input(4) ? call.dim(4, 2) : Dim::fixed(0);
  const Dim total = call.math.add(past, k.sequence);
  const Shape query = call.shape(0);
  Shape result;
  if (query)
    result = query->size() == 4 ? Dims{batch, q.heads, q.sequence, v.size}
                                : Dims{batch, q.sequence, call.math.multiply(q.heads, v.size)};
  SLUICE_TRY(call.give(0, call.dtype(0), std::move(result)));
  SLUICE_TRY(call.give(1, call.dtype(1), Dims{batch, kv_heads, total, k.size}));
  SLUICE_TRY(call.give(2, call.dtype(2), Dims{batch, kv_heads, total, v.size}));
  return call.give(3, call.dtype(0), Dims{batch, q.heads, q.sequence, total});
}

// Returns the dtype of the scores, which the bodies see: f32 unless the inputs are wider or the
// node says otherwise.
Result<DType> softmax_dtype(const InferCall& call) {
  if (!call.node.has(attributes::FlexAttention::softmax_precision)) {
    const DType own = call.dtype(0);
    return own == DType::kUndefined || own == DType::kF64 ? own : DType::kF32;
  }
  const int64_t named = call.node.get(attributes::FlexAttention::softmax_precision);
  const bool is_float = named > 0 && named < kDTypeCount && (kFloatSet >> named & 1) != 0;
  if (!is_float)
    return call.bad_node(
        "attribute 'softmax_precision' is {}, expected 1 (f32), 10 (f16), 11 (f64) or 16 (bf16)",
        named);
  return static_cast<DType>(named);
}

// Infers a body that changes scores or probabilities and keeps their type; its further inputs are
// captures.
Result<void> infer_modifier(InferCall& call, const BodyAttribute& attribute, const Type& scores) {
  if (!call.node.has(attribute)) return {};
  SLUICE_ASSIGN(Graph * body, find_body(call, attribute));
  const auto captures = static_cast<int64_t>(call.input_count()) - 3;
  SLUICE_TRY(check_body(call, *body, captures + 1, 1));
  std::vector<BodyInput> inputs{{scores}};
  for (size_t i = 3; i < call.input_count(); ++i)
    inputs.push_back({call.input_type(i), static_cast<int64_t>(i)});
  const auto check = [&](const char* verb, const Value& value) -> Result<void> {
    if (refine(call.module, value.type(), scores)) return {};
    return call.bad_shape("graph '{}' of attribute '{}' {} {}, expected {}", body->name(),
                          attribute.name, verb, type_text(call.module, value.type()),
                          type_text(call.module, scores));
  };
  SLUICE_TRY(check("takes", *body->inputs()[0]));
  SLUICE_TRY(infer_body(call, *body, inputs, false, call.changed));
  return check("gives", *body->outputs()[0]);
}

// Infers attention with bodies that change scores and probabilities [batch, heads, queries, keys].
// Operands have 4 dims, and there is no past.
Result<void> infer_flex_attention(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  for (const size_t i : {1, 2}) SLUICE_TRY(call.expect_same_dtype(i, 0));
  for (const size_t i : {0, 1, 2}) SLUICE_TRY(call.expect_rank(i, 4));
  SLUICE_TRY(call.unify(call.dim(0, 3), call.dim(1, 3), "head sizes of query and key"));
  SLUICE_ASSIGN(const Dim keys,
                call.unify(call.dim(1, 2), call.dim(2, 2), "sequence lengths of key and value"));
  SLUICE_ASSIGN(const Dim heads,
                call.unify(call.dim(1, 1), call.dim(2, 1), "heads of key and value"));
  SLUICE_TRY(check_groups(call, call.dim(0, 1), heads));
  SLUICE_ASSIGN(Dim batch,
                call.unify(call.dim(0, 0), call.dim(1, 0), "batch dims of query and key"));
  SLUICE_ASSIGN(batch, call.unify(batch, call.dim(2, 0), "batch dims of query and value"));
  SLUICE_ASSIGN(const DType softmax, softmax_dtype(call));
  const Type scores = Type::tensor(softmax, {batch, call.dim(0, 1), call.dim(0, 2), keys});
  SLUICE_TRY(infer_modifier(call, attributes::FlexAttention::score_mod, scores));
  SLUICE_TRY(infer_modifier(call, attributes::FlexAttention::prob_mod, scores));
  if (call.node.bodies().empty() && call.input_count() != 3)
    return call.bad_node("has {} inputs, expected 3", call.input_count());
  return call.give(0, call.dtype(0), Dims{batch, call.dim(0, 1), call.dim(0, 2), call.dim(2, 3)});
}

// Checks that decay and beta are present exactly where the rule reads them.
Result<void> check_update_rule(const InferCall& call) {
  const std::string rule = call.node.get(attributes::LinearAttention::update_rule);
  const bool is_gated = rule == "gated" || rule == "gated_delta";
  const bool is_delta = rule == "delta" || rule == "gated_delta";
  if (rule != "linear" && !is_gated && !is_delta)
    return call.bad_node(
        "attribute 'update_rule' is '{}', expected linear, gated, delta or gated_delta", rule);
  if (call.has_input(4) != is_gated)
    return call.bad_node("update rule '{}' {} input 4 (decay)", rule,
                         is_gated ? "needs" : "takes no");
  if (call.has_input(5) != is_delta)
    return call.bad_node("update rule '{}' {} input 5 (beta)", rule,
                         is_delta ? "needs" : "takes no");
  return {};
}

// Checks that the decay has a number for each key head, or for each element of its keys, and beta
// one for each key head, or one for all.
Result<void> check_gates(const InferCall& call, int64_t heads, const Dim& key) {
  const Dim decay = call.dim(4, 2);
  if (decay.is_fixed()) {
    const int64_t each = decay.value / heads;
    if (decay.value % heads != 0 || (each != 1 && key.is_fixed() && each != key.value))
      return call.bad_shape("{} elements of {} fit neither {} key heads nor their keys",
                            decay.value, call.input_name(4), heads);
  }
  const Dim beta = call.dim(5, 2);
  if (!beta.is_fixed() || beta.value == 1 || beta.value == heads) return {};
  return call.bad_shape("the last dim of {} is {}, expected 1 or the {} key heads",
                        call.input_name(5), beta.value, heads);
}

// Infers query, key, value [batch, time, heads * size] -> the same for the query's heads, and a
// state [batch, heads, key size, value size]. chunk_size never changes a result, so every value of
// it is valid.
Result<void> infer_linear_attention(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kNarrowFloatSet));
  SLUICE_TRY(call.expect_dtype(3, kNarrowFloatSet));
  SLUICE_TRY(call.expect_rank(3, 4));
  SLUICE_TRY(check_update_rule(call));
  SLUICE_ASSIGN(const int64_t q_heads,
                heads_attribute(call, attributes::LinearAttention::q_num_heads));
  SLUICE_ASSIGN(const int64_t kv_heads,
                heads_attribute(call, attributes::LinearAttention::kv_num_heads));
  SLUICE_TRY(check_groups(call, Dim::fixed(q_heads), Dim::fixed(kv_heads)));
  Dim batch = call.dim(3, 0);
  Dim time;
  for (const size_t i : {0, 1, 2, 4, 5}) {
    SLUICE_TRY(call.expect_same_dtype(i, 0));
    SLUICE_TRY(call.expect_rank(i, 3));
    SLUICE_ASSIGN(batch,
                  call.unify(batch, call.dim(i, 0),
                             fmt::format("batch dims of {} and of others", call.input_name(i))));
    SLUICE_ASSIGN(time, call.unify(time, call.dim(i, 1),
                                   fmt::format("lengths of {} and of others", call.input_name(i))));
  }
  SLUICE_ASSIGN(const Heads q, read_heads(call, 0, attributes::LinearAttention::q_num_heads));
  SLUICE_ASSIGN(const Heads k, read_heads(call, 1, attributes::LinearAttention::kv_num_heads));
  SLUICE_ASSIGN(const Heads v, read_heads(call, 2, attributes::LinearAttention::kv_num_heads));
  SLUICE_ASSIGN(Dim key, call.unify(q.size, k.size, "head sizes of query and key"));
  SLUICE_ASSIGN(key, call.unify(key, call.dim(3, 2), "head sizes of key and past state"));
  SLUICE_ASSIGN(const Dim value,
                call.unify(v.size, call.dim(3, 3), "head sizes of value and past state"));
  SLUICE_TRY(call.unify(Dim::fixed(kv_heads), call.dim(3, 1), "heads of key and past state"));
  SLUICE_TRY(check_gates(call, kv_heads, key));
  SLUICE_TRY(call.give(0, call.dtype(0),
                       Dims{batch, time, call.math.multiply(Dim::fixed(q_heads), value)}));
  return call.give(1, call.has_input(3) ? call.dtype(3) : call.dtype(0),
                   Dims{batch, Dim::fixed(kv_heads), key, value});
}

// Infers input [batch, channels, length], weight [channels, 1, k]: a convolution that reads only
// the past, and the last k - 1 inputs as a state.
Result<void> infer_causal_conv(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kNarrowFloatSet));
  for (const size_t i : {1, 2, 3}) SLUICE_TRY(call.expect_same_dtype(i, 0));
  for (const size_t i : {0, 1, 3}) SLUICE_TRY(call.expect_rank(i, 3));
  SLUICE_TRY(call.expect_rank(2, 1));
  const std::string activation = call.node.get(attributes::CausalConvWithState::activation);
  if (activation != "none" && activation != "silu" && activation != "swish")
    return call.bad_node("attribute 'activation' is '{}', expected none, silu or swish",
                         activation);
  SLUICE_ASSIGN(Dim channels, call.unify(call.dim(0, 1), call.dim(1, 0),
                                         fmt::format("channels of {} and {}", call.input_name(0),
                                                     call.input_name(1))));
  SLUICE_ASSIGN(channels, call.unify(channels, call.dim(2, 0), "channels and the bias"));
  SLUICE_ASSIGN(channels, call.unify(channels, call.dim(3, 1), "channels of input and past state"));
  SLUICE_ASSIGN(const Dim batch,
                call.unify(call.dim(0, 0), call.dim(3, 0), "batch dims of input and past state"));
  SLUICE_TRY(call.unify(call.dim(1, 1), Dim::fixed(1), "channels of one filter and 1"));
  if (call.dim(1, 2) == Dim::fixed(0))
    return call.bad_shape("{} has filters of no elements", call.input_name(1));
  SLUICE_ASSIGN(const Dim before, call.unify(call.math.add(call.dim(1, 2), -1), call.dim(3, 2),
                                             "filter size - 1 and past state"));
  SLUICE_TRY(call.give(0, call.dtype(0), Dims{batch, channels, call.dim(0, 2)}));
  return call.give(1, call.dtype(0), Dims{batch, channels, before});
}

Result<void> infer_rotary(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(3, kIndexSet));
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_rank(0, 3, 4));
  SLUICE_TRY(call.expect_rank(1, 2, 3));
  SLUICE_TRY(call.unify(call.shape(1), call.shape(2), "shapes of the cosine and sine caches"));
  SLUICE_TRY(call.expect_rank(3, 2));
  const Shape input = call.shape(0);
  if (input && input->size() == 3)
    SLUICE_TRY(heads_attribute(call, attributes::RotaryEmbedding::num_heads));
  return call.give_like(0, 0);
}

constexpr OpRow kAttentionRows[] = {
    {Op::kAttention, 3, 7, 1, 4, 0, attribute_rows::Attention, infer_attention},
    {Op::kCausalConvWithState, 2, 4, 1, 2, 0, attribute_rows::CausalConvWithState,
     infer_causal_conv},
    {Op::kFlexAttention, 3, -1, 1, 1, kControlFlow, attribute_rows::FlexAttention,
     infer_flex_attention},
    {Op::kLinearAttention, 3, 6, 1, 2, 0, attribute_rows::LinearAttention, infer_linear_attention},
    {Op::kRotaryEmbedding, 3, 4, 1, 1, 0, attribute_rows::RotaryEmbedding, infer_rotary},
};

}  // namespace

std::span<const OpRow> attention_rows() { return kAttentionRows; }

}  // namespace sluice
