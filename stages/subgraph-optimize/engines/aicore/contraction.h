// One contraction of a subgraph while it is lowered to a kernel: the anchor, and the other nodes of
// its Fused body as an epilogue program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/graph.h"
#include "common/target/aicore.h"
#include "common/target/quantized.h"
#include "stages/subgraph-optimize/codegen/codegen.h"
#include "stages/subgraph-optimize/engines/aicore/chain.h"

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
  const Type& result() const { return anchor->output().type(); }
};

// Returns false for nodes that are not contractions.
bool read_contraction(Node& node, Contraction& contraction);

// The addressing of an epilogue operand of each shape by one kernel.
struct EpilogueAddressing {
  EpilogueOperand column, row, full;
};

struct TranslatedEpilogue {
  Epilogue epilogue;
  // Values of the body (or of the plain node's graph), in the order of Epilogue.operands.
  std::vector<const Value*> operands;
};

// Translates the anchor's bias (and Gemm's alpha and beta) and every node after the anchor, in
// order. With `quantized` the program goes from the exact sum to the result in steps of its scale,
// before it is rounded.
Result<TranslatedEpilogue> translate_epilogue(const Contraction& contraction,
                                              const EpilogueAddressing& addressing,
                                              const QuantizedContraction* quantized = nullptr);
// Returns the number that a value of the contraction's own graph is known to be.
std::optional<double> known_number(const Contraction& contraction, const Value& inside);

}  // namespace sluice
