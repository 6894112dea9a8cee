// Reads queries, keys and values as exporters write them: views, transpositions, factors and
// repeated heads around [batch, length, heads * size].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stages/optimize/fusion/decomposition.h"
#include "stages/optimize/node_maker.h"

namespace sluice {

struct AttentionOperand {
  // The elements in the order [batch, heads, length, size], or null.
  Value* by_head = nullptr;
  // The elements in the order [batch, length, heads, size], or null. With `part` the value is
  // [batch, length, parts, heads, size], and the elements are one part of it.
  Value* by_length = nullptr;
  std::optional<int64_t> part;
  std::vector<Dim> dims;  // [batch, heads, length, size]
  double factor = 1;      // what the elements are to be multiplied with
  int64_t repeats = 1;    // the number of query heads that each head stands for
};

enum class OperandRole {
  kQueries,
  kKeys,  // is read transposed: [..., size, length]
  kValues,
};

struct OperandReading {
  OperandRole role;
  std::vector<Dim> dims;      // [batch, heads, length, size] of the operand as the product reads it
  bool shares_heads = false;  // repeated heads are read as one
  const Node& reader;         // only nodes with its placement are looked through
};

// Reads an operand of a product, which has batch and heads in one axis or two. Returns nothing
// where keys are not transposed.
std::optional<AttentionOperand> read_attention_operand(Value& value, const OperandReading& reading);

// Returns whether the value is transposed as keys are.
bool is_transposed_keys(Value& value);

// Return the operand as [batch, heads, length, size], and as [batch, length, heads * size], which
// needs `by_length`.
Value& make_by_head(NodeMaker& make, const AttentionOperand& operand);
Value& make_flat(NodeMaker& make, const AttentionOperand& operand);

}  // namespace sluice
