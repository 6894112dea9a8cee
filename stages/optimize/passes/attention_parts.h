// What the decompositions of Attention and FlexAttention share.
#pragma once

#include <cstdint>
#include <optional>

#include "common/ir/graph.h"
#include "common/ir/type.h"
#include "stages/optimize/node_maker.h"

namespace sluice {

// The sizes of a node, where they are known well enough to write it as other nodes.
struct AttentionForm {
  Dim batch;
  int64_t heads = 0, kv_heads = 0;
  Dim queries;
  Dim grouped_queries;  // of all heads that share a key head
  Dim keys;             // with those of the past
  int64_t key_size = 0, value_size = 0;
  int64_t missing_mask_keys = 0;  // keys after the last one of a shorter mask
};

// Returns nothing where operands may or may not fit each other, heads or their sizes are not fixed,
// something is empty, the sums are in f64, which no engine multiplies, and where an annotation
// places or keeps the node.
std::optional<AttentionForm> read_attention_form(const Node& node);

// Writes sums over queries, keys and values [batch, heads, length, size] of any float dtype. Query
// heads that share a key head are rows of one product: a view, not a copy.
class AttentionMaker {
 public:
  AttentionMaker(NodeMaker& make, const AttentionForm& form) : make_(make), form_(form) {}

  // The products of queries and keys with the scale, by default that of their size, in f32 and by
  // key head: [batch, key heads, grouped queries, keys].
  Value& scores(Value& queries, Value& keys, std::optional<float> scale);
  // The same elements by query head, [batch, heads, queries, keys].
  Value& by_query_head(Value& scores);
  // The sums of values with weights by query head, in f32: [batch, heads, queries, value size].
  Value& weighted(Value& weights, Value& values);

 private:
  Value& viewed(Value& x, int64_t heads, const Dim& rows, const Dim& last);

  NodeMaker& make_;
  const AttentionForm& form_;
};

}  // namespace sluice
