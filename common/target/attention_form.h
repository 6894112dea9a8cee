// The sizes of Attention and FlexAttention nodes, and which of them one generated kernel computes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/ir/graph.h"
#include "common/ir/type.h"

namespace sluice {

// The sizes of a node, where they are known well enough to write it as other nodes or as a kernel.
struct AttentionForm {
  Dim batch;
  int64_t heads = 0, kv_heads = 0;
  Dim queries;
  Dim new_keys;  // without those of the past
  Dim keys;      // with those of the past
  int64_t key_size = 0, value_size = 0;
  int64_t missing_mask_keys = 0;  // keys after the last one of a shorter mask
};

// Returns nothing where operands may or may not fit each other, heads or their sizes are not fixed,
// something is empty, or the elements are of f64, which no engine multiplies.
std::optional<AttentionForm> read_attention_form(const Node& node);

// Returns whether a causal node hides no key: its only query is that of the last key.
bool sees_all_keys(const Node& attention, const AttentionForm& form);

// Returns why no single kernel computes the node, or an empty text; a past and what it grows to are
// not looked at, since Concat nodes can make them.
std::string kernel_unsupported_reason(const Node& attention, const AttentionForm& form);
// Returns whether the node has a past, or results besides the first.
bool has_states(const Node& attention);

// Returns why the engine aicore does not support the node, or an empty text.
std::string attention_unsupported_reason(const Node& attention);

}  // namespace sluice
