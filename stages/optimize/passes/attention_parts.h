// What the decompositions of Attention and FlexAttention share.
#pragma once

#include <cstdint>
#include <optional>

#include "common/ir/graph.h"
#include "common/ir/type.h"
#include "common/target/attention_form.h"
#include "stages/optimize/node_maker.h"

namespace sluice {

// Returns the sizes of a node that other nodes can take the place of; nothing where they are not
// known, and where an annotation places or keeps the node.
std::optional<AttentionForm> read_removable_form(const Node& node);

// Returns the queries of all heads that share a key head.
Dim grouped_queries(const Node& node, const AttentionForm& form);

// Returns Q, K or V of an Attention node as [batch, heads, sequence, size].
Value& heads_of(NodeMaker& make, const Node& node, const AttentionForm& form, size_t input);
// Returns K or V so, after its past (input `past`) if there is one.
Value& with_past(NodeMaker& make, const Node& node, const AttentionForm& form, size_t input,
                 size_t past);

// Makes matrix products and a softmax of an Attention node of this form.
void decompose_attention_node(Editor& editor, Node& node, const AttentionForm& form);

// Writes sums over queries, keys and values [batch, heads, length, size] of any float dtype. Query
// heads that share a key head are rows of one product: a view, not a copy.
class AttentionMaker {
 public:
  AttentionMaker(NodeMaker& make, const Node& node, const AttentionForm& form)
      : make_(make), form_(form), grouped_queries_(grouped_queries(node, form)) {}

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
  Dim grouped_queries_;
};

}  // namespace sluice
