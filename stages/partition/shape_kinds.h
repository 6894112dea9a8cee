// Decides which nodes can be lowered to task lists with fixed shapes, and which cannot: the
// recognition rule of the known/unknown split (catalogue 1.8).
#pragma once

#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// kInput: known, and reads nothing while the model runs.
enum class ShapeKind : uint8_t { kKnown, kUnknown, kInput };

// The types that may be in a known part, and cross its border: fixed types and, unless symbolic is
// false, types whose dims can be computed from those of the root's inputs. Types in bodies have to
// be fixed.
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

// Returns the number of nodes that it counts for: a Fused one counts for those that it was made of,
// so that fusion changes no split.
int64_t operations_of(const Node& node);

// Returns the kinds by node id. A node is unknown when
// - the type of an operand or result is not known, or its results depend on the data (also where
//   the model promises a shape);
// - it is shape arithmetic that runs on host_cpu, of unknown operands: nodes that wait for it need
//   its numbers. With symbolic false, of any operands;
// - one of its bodies is dynamic.
// Must run after mark_dynamic_bodies. Kinds of erased nodes are meaningless.
std::vector<ShapeKind> find_shape_kinds(const Graph& graph, const KnownTypes& known);

// Makes dynamic, inside the control flow of the graph, every body with an unknown node or value, or
// with an owner of such a body, and its siblings. Returns whether one changed.
bool mark_dynamic_bodies(Graph& graph, const KnownTypes& known);

}  // namespace sluice
