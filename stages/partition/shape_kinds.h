// Which nodes can be sunk with fixed shapes, and which cannot: the recognition rule of the known/unknown split (catalogue 1.8).
#pragma once

#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// kInput: known, and reads nothing while the model runs.
enum class ShapeKind : uint8_t { kKnown, kUnknown, kInput };

// Whether values of this type may lie in a known part, and cross its border.
bool is_known(const Type& type);

// How many nodes it counts for: a Fused one for those that it was made of, so that fusion changes no split.
int64_t operations_of(const Node& node);

// By node id. A node is unknown when
// - a value that it takes or gives is not known, or what it gives depends on the data (also where the model promises a shape);
// - it is shape arithmetic that runs on host_cpu: what waits for it needs its numbers;
// - one of its bodies is dynamic.
// After mark_dynamic_bodies. Kinds of nodes that were erased say nothing.
std::vector<ShapeKind> find_shape_kinds(const Graph& graph);

// Makes dynamic, inside the control flow of the graph, every body with an unknown node or value, or with an owner of such a body, and its
// siblings. Answers whether one changed.
bool mark_dynamic_bodies(Graph& graph);

}  // namespace sluice
