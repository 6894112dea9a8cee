// TreeEnsemble becomes the op with its tensors as inputs, followed by post_transform.
#include "stages/preprocess/onnx/ml/linear.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

Result<void> expand_tree_ensemble(ExpandCall& call) {
  constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const int64_t transform = call.int_attribute("post_transform", 0);
  if (transform < 0 || transform > 4)
    return call.bad("attribute 'post_transform' is {}, expected 0 to 4", transform);
  std::vector<Value*> operands = {call.input(0)};
  for (const char* name : {"nodes_splits", "nodes_modes", "leaf_weights", "membership_values"}) {
    SLUICE_ASSIGN(Value * table, call.tensor_attribute(name));
    operands.push_back(table);
  }
  Node& node = call.add_node(Op::kTreeEnsemble, operands, 1,
                             {{"n_targets", call.int_attribute("n_targets", 1)}});
  call.copy_attributes(
      node, {"aggregate_function", "leaf_targetids", "nodes_falseleafs", "nodes_falsenodeids",
             "nodes_featureids", "nodes_missing_value_tracks_true", "nodes_trueleafs",
             "nodes_truenodeids", "tree_roots"});
  SLUICE_ASSIGN(call.results[0], transformed(call, &node.output(), kTransforms[transform]));
  return {};
}

}  // namespace sluice
