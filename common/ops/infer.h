// Type, shape and value inference of one node and of a graph.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Known contents of small integer tensors (shape arithmetic): one expression per element, by value.
// They are kept beside a graph while it is inferred.
class ValueFacts {
 public:
  static constexpr size_t kMaxElements = 64;

  explicit ValueFacts(const Graph& graph) : facts_(graph.value_limit()) {}
  // Returns the elements of a rank 0 or 1 tensor of at most kMaxElements integers, bools (0 and 1)
  // or floats that are whole numbers; constants are read from their segment. Returns null when they
  // are not known. The pointer is valid until set() of the same value.
  const std::vector<ExpressionId>* find(const Value& value);
  void set(const Value& value, std::vector<ExpressionId> elements);

 private:
  std::deque<std::optional<std::vector<ExpressionId>>> facts_;
};

// Infers the types of a node's results (and of its bodies) from its inputs' types, attributes and
// known values. Existing types of the results are refined, never contradicted: a conflict is
// kBadShape, which names both. Returns true when a type changed.
Result<bool> infer_node(Node& node, ValueFacts& facts);

// Makes one pass over a graph in order. Returns true when anything changed. A requirement of a
// later node on a symbol (a divisor) reaches the types of earlier nodes in the next pass, so
// callers repeat until nothing changes.
Result<bool> infer_graph(Graph& graph, ValueFacts& facts);

}  // namespace sluice
