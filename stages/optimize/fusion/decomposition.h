// Reads decompositions: operators that exporters write as several nodes. A pass recognises the
// values, from the last node backwards or from a node in the middle; this file says which nodes lie
// between them and puts one node in their place.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "common/pass/editor.h"

namespace sluice {

// Returns whether a list of nodes or values holds this one.
template <typename T, typename U>
bool list_contains(const std::vector<T*>& list, const U* one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

// Returns the node that makes the value when it is of this op and has one result, otherwise null.
const Node* find_maker(const Value* value, Op op);

// Returns the only node that reads the value, or null: also for an output of the graph.
Node* find_only_reader(const Value& value);

// Returns the other operand of a node that reads the value and one more.
Value& other_operand(const Node& node, const Value& one);

// A value times a number.
struct Scaled {
  Value* value = nullptr;
  double factor = 1;
};
// Reads x * number, number * x or x / number; any other value is itself times 1.
Scaled read_scaled(Value& value);

// Returns the axes of a reduction that keeps them as 1, ascending; nothing when they are not known.
std::optional<std::vector<int64_t>> kept_axes(const Node& reduction);

// Returns the nodes that `last` depends on, up to the inputs, and `last`, in list order. Returns
// nothing when they cannot become one node: a value inside is read outside or is an output, a
// placement differs or says `keep`, or a path leads out of them and back.
std::optional<std::vector<Node*>> find_nodes_between(Editor& editor,
                                                     const std::vector<Value*>& inputs, Node& last);

// Replaces the nodes by one of this op, which has the name of the last one's result.
Node& replace_by(Editor& editor, const std::vector<Node*>& nodes, Op op,
                 const std::vector<Value*>& inputs);

}  // namespace sluice
