// One contraction of a subgraph on its way to a kernel: the anchor, and the rest of its Fused body
// as an epilogue program.
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

  // The value of the subgraph that a value of the body stands for which no node makes: a body
  // input, or a constant (then null: look at its segment).
  Value* outside(const Value& inside) const;
  // What anchor input `index` is read from: the input of the Transpose that a body has in front of
  // it, else that operand itself.
  const Value& source(size_t index) const;
  bool transposes(size_t index) const { return find_operand_transpose(*anchor, index) != nullptr; }
  const Type& result() const { return anchor->output().type(); }
};

// Answers false for nodes that are no contraction.
bool read_contraction(Node& node, Contraction& contraction);

// How an epilogue operand of each shape is addressed by the kernel at hand.
struct EpilogueAddressing {
  EpilogueOperand column, row, full;
};

struct TranslatedEpilogue {
  Epilogue epilogue;
  std::vector<const Value*>
      operands;  // of the body (or of the plain node's graph), in the order of Epilogue.operands
};

// The anchor's bias (and Gemm's alpha and beta) and every node behind the anchor, in order. With
// `quantized` from the exact sum to the result in steps of its scale, before it is rounded.
Result<TranslatedEpilogue> translate_epilogue(const Contraction& contraction,
                                              const EpilogueAddressing& addressing,
                                              const QuantizedContraction* quantized = nullptr);
// The number that a value of the contraction's own graph is known to be.
std::optional<double> known_number(const Contraction& contraction, const Value& inside);

}  // namespace sluice
