// What a graph needs to be lowered to a task list: values whose sizes are numbers, or can be
// computed from the dims of the model's inputs.
#pragma once

#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// Values that no fixed part can hold: dims that are not fixed, elements that are not plain, values
// that are no tensors. In list order; the graphs that Calls stand for are looked into, and what a
// Call gives is listed where the node inside makes it.
std::vector<const Value*> dynamic_values(const Graph& root);

// Whether the bytes of a value of this type can be told before anything is computed: a tensor of
// plain elements whose dims are fixed, or expressions over dims of inputs.
bool has_known_size(const Module& module, const Type& type);

// Whether the bytes of a value of this type can be told before the node that makes it runs: a
// tensor of plain elements whose dims are fixed, or expressions, also over dims that earlier
// results have.
bool has_computed_size(const Type& type);

// The type with nominal sizes (common/symbolic/nominal.h) where it is symbolic. What has no
// computed size stays.
Type nominal_type(const Module& module, const Type& type);

// kLimit for values above 2^47 bytes, all named.
Result<void> check_sizes(const Graph& root);

// "node 'conv1' (Conv), result 'y'", "input 'x'", "constant 'w'".
std::string describe_value(const Value& value);

}  // namespace sluice
