// The parts that the attention operators share.
#pragma once

#include "stages/preprocess/onnx/expand_call.h"

namespace sluice {

// Returns an attribute that counts heads.
Result<int64_t> head_count(const ExpandCall& call, const IntAttribute& attribute);

// Reshape [batch, sequence, heads * size] to [batch, heads, sequence, size], and back.
Value* split_heads(ExpandCall& call, Value* x, int64_t heads);
Value* join_heads(ExpandCall& call, Value* x);

Value* indices(ExpandCall& call, Value* count);  // 0, 1, ... of a one-element count

// Q, K and V, [batch, sequence, heads * size] each, plus their parts of one bias, which follow each
// other in it. K and V null: Q alone.
struct Projections {
  Value* q;
  Value* k;
  Value* v;
};
Projections with_bias(ExpandCall& call, Value* bias, const Projections& x);

// Returns 0 where `keep` is true, otherwise `blocked`, in the dtype of `like`.
Value* blocked_where_not(ExpandCall& call, Value* keep, float blocked, Value* like);

// Returns the sum of two values, either of which may be null.
Value* sum_of(ExpandCall& call, Value* a, Value* b);

// Sizes as i64 of one element each.
struct ScoreSizes {
  Value* batch;
  Value* queries;
  Value* keys;  // including the past's
};

// Returns what a mask over keys adds to the scores. Attention, MultiHeadAttention and QAttention
// take the mask as [batch] (the end of each row's keys), [2 * batch] (ends, then starts), [batch,
// keys], [batch, queries, keys] or [batch, 1, max, max], all but the first two with 0 for blocked.
// Returns null when the input is absent.
Result<Value*> key_mask(ExpandCall& call, size_t input, const ScoreSizes& sizes, Value* like);

// Computes self-attention of the joint projection [batch, sequence, hidden + hidden + v_hidden],
// for Attention and QAttention. Fills call.results. Inputs that the operator does not have are
// SIZE_MAX.
struct SelfAttentionInputs {
  size_t mask;
  size_t past;
  size_t bias;  // added to the scores
};
Result<void> attend_to_itself(ExpandCall& call, Value* projection,
                              const SelfAttentionInputs& inputs);

}  // namespace sluice
