// What the attention operators share.
#pragma once

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

// An attribute that counts heads.
Result<int64_t> head_count(const ExpandCall& call, std::string_view name);

// [batch, sequence, heads * size] as [batch, heads, sequence, size], and back.
Value* split_heads(ExpandCall& call, Value* x, int64_t heads);
Value* join_heads(ExpandCall& call, Value* x);

Value* indices(ExpandCall& call, Value* count);  // 0, 1, ... of a one-element count

// Q, K and V with their parts of one bias, which follow each other in it; [batch, sequence, heads *
// size] each. K and V null: Q alone.
struct Projections {
  Value* q;
  Value* k;
  Value* v;
};
Projections with_bias(ExpandCall& call, Value* bias, const Projections& x);

// 0 where `keep` is true, else `blocked`, in the dtype of `like`.
Value* blocked_where_not(ExpandCall& call, Value* keep, float blocked, Value* like);

// The sum of two of which either may be null.
Value* sum_of(ExpandCall& call, Value* a, Value* b);

// Sizes as i64 of one element each.
struct ScoreSizes {
  Value* batch;
  Value* queries;
  Value* keys;  // the past's too
};

// What a mask over keys adds to the scores, as Attention, MultiHeadAttention and QAttention take
// it: [batch] (where each row's keys end), [2 * batch] (ends, then starts), [batch, keys], [batch,
// queries, keys] or [batch, 1, most, most], all but the first two 0 for blocked. Null when the
// input is absent.
Result<Value*> key_mask(ExpandCall& call, size_t input, const ScoreSizes& sizes, Value* like);

// Self-attention of the joint projection [batch, sequence, hidden + hidden + v_hidden], for
// Attention and QAttention. Fills call.results. Inputs that the operator does not have: SIZE_MAX.
struct SelfAttentionInputs {
  size_t mask;
  size_t past;
  size_t bias;  // to the scores
};
Result<void> attend_to_itself(ExpandCall& call, Value* projection,
                              const SelfAttentionInputs& inputs);

}  // namespace sluice
