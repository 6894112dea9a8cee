// The conditions for lowering a graph to a task list: the size of every value is a number, or can
// be computed from the dims of the model's inputs.
#pragma once

#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

// Returns the values that no fixed part can contain: dims that are not fixed, elements that are not
// plain, values that are not tensors. The result is in list order and includes the graphs that
// Calls refer to; the result of a Call is listed where the node inside produces it.
std::vector<const Value*> dynamic_values(const Graph& root);

// Returns true when the bytes of a value of this type are known before anything is computed: a
// tensor of plain elements whose dims are fixed, or expressions over dims of inputs.
bool has_known_size(const Module& module, const Type& type);

// Returns true when the bytes of a value of this type are known before the node that produces it
// runs: a tensor of plain elements whose dims are fixed or expressions, also over dims of earlier
// results.
bool has_computed_size(const Type& type);

// Returns the type with nominal sizes (common/symbolic/nominal.h) where it is symbolic. A type
// without computed size is returned unchanged.
Type nominal_type(const Module& module, const Type& type);

// Returns kLimit when values are above 2^47 bytes; the error names all of them.
Result<void> check_sizes(const Graph& root);

// Returns "node 'conv1' (Conv), result 'y'", "input 'x'", "constant 'w'".
std::string describe_value(const Value& value);

}  // namespace sluice
