// Writes the sum or mean of the losses of SoftmaxCrossEntropyLoss as the two operators that it
// stands for.
//
//   before:  %y, %log = SoftmaxCrossEntropyLoss(%x, %labels, %w) {reduction = "mean"}
//   after:   %log = LogSoftmax(%x) {axis = 1}
//            %y = NegativeLogLikelihoodLoss(%log, %labels, %w) {reduction = "mean"}
//
// The sum over all rows is then a kernel of its own, after the one that computes the rows. Legal by
// ONNX's definition of the operator. Losses of single rows stay one node, which is one kernel. Must
// run after infer-types.
#include "common/base/work.h"
#include "common/ops/attributes.h"
#include "stages/preprocess/passes/passes.h"

namespace sluice {
namespace {

bool normalize(Node& node) {
  if (node.op() != Op::kSoftmaxCrossEntropyLoss ||
      node.get(attributes::Loss::reduction) == "none" || !node.input(0)->type().ranked)
    return false;
  Graph& graph = node.graph();
  Node& scores = graph.add_node(Op::kLogSoftmax, {node.input(0)}, 1, &node);
  scores.set(attributes::Softmax::axis, int64_t{1});
  scores.output().set_type(node.input(0)->type_id());
  scores.add_origins(node.origins());
  scores.placement = node.placement;
  if (node.output_count() > 1) {
    Value& logarithms = node.output(1);
    scores.output().set_name(logarithms.name());
    graph.replace_all_uses(logarithms, scores.output());
    node.remove_last_output();
  }
  node.set_input(0, &scores.output());
  node.set_op(Op::kNegativeLogLikelihoodLoss);
  return true;
}

bool normalize(Graph& graph) {
  bool changed = false;
  add_work(Work::kNodeVisits, graph.node_count());
  for (Node& node : graph.nodes()) {
    changed = normalize(node) || changed;
    for (const GraphId body : node.bodies())
      changed = normalize(graph.module().graph(body)) || changed;
  }
  return changed;
}

}  // namespace

Result<bool> normalize_cross_entropy(Graph& graph, const Options&) { return normalize(graph); }

}  // namespace sluice
