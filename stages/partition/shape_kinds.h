// Which nodes can be lowered to task lists with fixed shapes, and which cannot: the recognition
// rule of the known/unknown split (catalogue 1.8).
#pragma once

#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// kInput: known, and reads nothing while the model runs.
enum class ShapeKind : uint8_t { kKnown, kUnknown, kInput };

// What may lie in a known part, and cross its border: values of fixed types and, unless symbolic is
// false, of types whose dims can be computed from those of the root's inputs. Those of bodies have
// to be fixed.
class KnownTypes {
 public:
  KnownTypes(const Graph& root, bool symbolic);
  bool has(const Type& type, const Graph& graph) const;
  bool has(const Value& value) const { return has(value.type(), value.graph()); }
  bool symbolic() const { return symbolic_; }

 private:
  bool is_given(ExpressionId id) const;

  const Module& module_;
  bool symbolic_;
  std::vector<bool> given_;  // by SymbolId: some input's dim is this symbol
};

// How many nodes it counts for: a Fused one for those that it was made of, so that fusion changes
// no split.
int64_t operations_of(const Node& node);

// By node id. A node is unknown when
// - a value that it takes or gives is not known, or what it gives depends on the data (also where
// the model promises a shape);
// - it is shape arithmetic that runs on host_cpu, of what is unknown: what waits for it needs its
// numbers. With symbolic false, of anything;
// - one of its bodies is dynamic.
// After mark_dynamic_bodies. Kinds of nodes that were erased say nothing.
std::vector<ShapeKind> find_shape_kinds(const Graph& graph, const KnownTypes& known);

// Makes dynamic, inside the control flow of the graph, every body with an unknown node or value, or
// with an owner of such a body, and its siblings. Answers whether one changed.
bool mark_dynamic_bodies(Graph& graph, const KnownTypes& known);

}  // namespace sluice
