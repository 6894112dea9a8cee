// Attention: softmax(Q K' scale + mask) V in one launch whose memory does not grow with the number
// of keys.
//
// A task is some rows of one batch entry and key head: the queries of all heads that share it, one
// head after the other. Keys and values pass by once, a tile of keys at a time, while each row
// keeps the maximum and the sum of the exponentials that it has met, as in M. Milakov and N.
// Gimelshein, "Online normalizer calculation for softmax" (2018), and the sum of values with them,
// which is scaled whenever the maximum grows, as in T. Dao et al., "FlashAttention" (2022):
//
//   for task in the block's tasks:
//     m = -inf, l = 0, O = 0, of every row
//     for tile of keys that any row sees:
//       S = K Q' scale, by keys and rows: queries are the lanes of a vector
//       S = softcap, mask, causal (S)
//       m' = max(m, S over the tile)   P = exp(S - m')   f = exp(m - m')
//       l = l f + sum of P             O = O f + P' V    m = m'
//     Y = O / l, or 0 where a row has seen no key and is not to be NaN then
//
// Neither K nor V is packed where rows follow each other: the keys of a tile are the rows of the
// register tile, and the queries, packed once per task, its columns.
//
// In memory operands are f32, f16 or bf16, each of its own dtype; scores, the softmax and sums are
// f32. A task of many rows widens keys once for each tile, and values once for each tile of keys;
// one of few rows widens what it reads in registers.
#pragma once

#include <limits>

#include "stages/subgraph-optimize/codegen/codegen.h"

namespace sluice {

// [batch, heads, rows, size] by strides; the elements of a row follow each other.
struct AttentionOperand {
  Extent batch_stride = 0, head_stride = 0;
  int64_t row_stride = 0;
  DType dtype = DType::kF32;
};

enum class AttentionMaskKind { kNone, kFloat, kBool };

// What is added to the scores: floats, or where a bool is false their hidden_score. Strides of 0
// broadcast.
struct AttentionMask {
  AttentionMaskKind kind = AttentionMaskKind::kNone;
  Extent batch_stride = 0, head_stride = 0, row_stride = 0;
  int64_t key_stride = 1;                                        // 0 or 1
  DType dtype = DType::kF32;                                     // of floats
  float hidden_score = -std::numeric_limits<float>::infinity();  // of keys that a bool hides
};

// Pointers: Y, Q, K, V, the mask if there is one, the numbers of keys if there are any.
struct AttentionSpec {
  Extent batch = 1;
  int64_t heads = 1, kv_heads = 1;  // the first is a multiple of the second
  Extent queries = 1, keys = 1;
  int64_t key_size = 1, value_size = 1;
  AttentionOperand q, k, v, y;
  AttentionMask mask;
  // A query i sees no key after i, or with has_lengths after i + length - queries.
  bool is_causal = false;
  bool has_lengths = false;  // an i64 for each batch entry: keys from there on are hidden
  float scale = 1;
  float softcap = 0;       // 0: none
  bool keeps_nan = false;  // of rows whose keys are all hidden by -inf
  MathPrecision math = MathPrecision::kDefault;

  int64_t group() const { return heads / kv_heads; }  // heads that share a key head
  Extent rows() const { return queries * group(); }   // of a key head
};

Result<GeneratedKernel> generate_attention(const AttentionSpec& spec, const DeviceProfile& profile);
std::string canonical_text(const AttentionSpec& spec);

}  // namespace sluice
