// One contraction of a subgraph while it is lowered to a kernel: the anchor, and the other nodes of
// its Fused body as an epilogue.
#pragma once

#include <optional>

#include "common/base/result.h"
#include "common/ir/graph.h"
#include "common/loop/epilogue.h"
#include "common/target/aicore.h"
#include "common/target/quantized.h"

namespace sluice {

// A contraction node, plain or Fused, seen from outside: its operands are values of the subgraph.
struct Contraction {
  Node* node;          // Conv, MatMul, Gemm or Fused
  const Node* anchor;  // the node itself, or the anchor of its body
  const Graph* body;   // null for a plain node

  // Returns the value of the subgraph that a body's value without a producer stands for: that of a
  // body input. Returns null for a constant, which is found by its segment.
  Value* outside(const Value& inside) const;
  // Returns the value that anchor input `index` is read from: the input of the Transpose that a
  // body has before it, otherwise that operand itself.
  const Value& source(size_t index) const;
  bool transposes(size_t index) const { return find_operand_transpose(*anchor, index) != nullptr; }
  // Returns the type of what the epilogue begins with.
  const Type& result() const { return value_of_sums(*anchor).type(); }
};

// Returns false for nodes that are not contractions.
bool read_contraction(Node& node, Contraction& contraction);

// Lowers the anchor's bias (and Gemm's alpha and beta) and every node after the anchor. With
// `quantized` the epilogue goes from the exact sum to the result in steps of its scale, before it
// is rounded.
Result<loop::LoweredEpilogue> lower_epilogue(const Contraction& contraction,
                                             const QuantizedContraction* quantized = nullptr);

// Returns the number that a value of the contraction's own graph is known to be.
std::optional<double> known_number(const Contraction& contraction, const Value& inside);

}  // namespace sluice
