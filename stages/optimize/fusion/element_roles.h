// What a node can be in a group of nodes that one loop kernel computes together
// (element_groups.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/ir/graph.h"

namespace sluice {

enum class Role : uint8_t {
  kNone,         // takes no part
  kElementwise,  // element i of the result needs elements i of the inputs, with broadcasting
  kReshape,      // a view that only splits dims
  kMove,         // each element is one of the operand, which gives each at most once: a Transpose
                 // that leaves the last axis in its place, Slice, Split, Pad with a constant
  kSpread,       // an Expand
  kLoops,        // has loops of its own
};

Role find_role(const Node& node);

// Returns whether every dim of `from` is the product of consecutive dims of `to`, so that an index
// of `to` becomes one of `from` without divisions.
bool only_splits(const std::vector<Dim>& from, const std::vector<Dim>& to);

// Returns whether computing an element again costs less than reading it again.
bool is_cheap(const Node& node);

// Returns whether the node's loops compute each element of their operand once: they read it once,
// or keep a row of it in scratch.
bool computes_once(const Node& node);

// Returns whether the node's loops keep a row of their operand where that is a result too, so that
// they compute and store each of its elements once.
bool stores_operand(const Node& node);

// Returns whether the input is a constant that says what the node does (axes, a target shape)
// rather than data.
bool is_parameter(const Node& node, size_t input);

// Returns whether the node is a Concat, of not too few bytes, of which some operand is in memory
// anyway, because no group computes it on the way. Its producer can write it where the Concat has
// it.
bool joins_pieces(const Node& node);

}  // namespace sluice
