// Drops the operands of contractions that nothing in them reads.
//
//   before:  %y = Gemm(%a, %b, %c) {beta = 0}
//            %z = Fused(%a, %b, %c, %d) { %s = Gemm(%a, %b, %c) {beta = 0}   %z = Relu(%s) }
//   after:   %y = Gemm(%a, %b, _) {beta = 0}
//            %z = Fused(%a, %b) { %s = Gemm(%a, %b, _) {beta = 0}   %z = Relu(%s) }
//
// Legal because Gemm with beta = 0 does not read its third operand, not even where that is NaN
// (common/eval/matmul.cc). What a node names is an operand of its kernel, so that memory would keep
// it until then. The inputs of the subgraph stay: its Call passes them.
#include "common/ops/attributes.h"
#include "stages/subgraph-optimize/passes/passes.h"
#include "stages/subgraph-optimize/subgraphs.h"

namespace sluice {
namespace {

bool drop_unread_bias(Node& node) {
  const bool is_unread =
      node.op() == Op::kGemm && node.input(2) != nullptr && node.get(attributes::Gemm::beta) == 0;
  if (is_unread) node.set_input(2, nullptr);
  return is_unread;
}

bool drop_unread_inputs(Node& fused, Graph& body) {
  std::vector<Value*> read;
  for (size_t i = 0; i < body.inputs().size(); ++i)
    if (body.inputs()[i]->is_used()) read.push_back(fused.input(i));
  if (read.size() == body.inputs().size()) return false;
  for (size_t i = body.inputs().size(); i-- > 0;)
    if (!body.inputs()[i]->is_used()) body.remove_input(i);
  for (size_t i = 0; i < read.size(); ++i) fused.set_input(i, read[i]);
  while (fused.input_count() > read.size()) fused.remove_last_input();
  return true;
}

bool drop_unread_operands(Node& node) {
  Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  if (body == nullptr) return drop_unread_bias(node);
  bool changed = false;
  for (Node& inner : body->nodes()) changed = drop_unread_bias(inner) || changed;
  return drop_unread_inputs(node, *body) || changed;
}

}  // namespace

Result<bool> eliminate_unread_operands(Graph& root, const Options&) {
  return rewrite_subgraphs(root, engine_name(EngineId::kAicore), [](Graph& graph) -> Result<bool> {
    bool changed = false;
    for (Node& node : graph.nodes()) changed = drop_unread_operands(node) || changed;
    return changed;
  });
}

}  // namespace sluice
