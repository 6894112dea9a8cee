// TreeEnsemble becomes the op with its tensors as inputs, followed by post_transform.
#include "stages/preprocess/onnx/ml/attributes.h"
#include "stages/preprocess/onnx/ml/linear.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {

using TreeEnsembleAttributes = ml_attributes::TreeEnsemble;

Result<void> expand_tree_ensemble(ExpandCall& call) {
  constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const int64_t transform = call.get(TreeEnsembleAttributes::post_transform);
  if (transform < 0 || transform > 4)
    return call.bad("attribute 'post_transform' is {}, expected 0 to 4", transform);
  std::vector<Value*> operands = {call.input(0)};
  for (const TensorAttribute& attribute :
       {TreeEnsembleAttributes::nodes_splits, TreeEnsembleAttributes::nodes_modes,
        TreeEnsembleAttributes::leaf_weights, TreeEnsembleAttributes::membership_values}) {
    SLUICE_ASSIGN(Value * table, call.tensor(attribute));
    operands.push_back(table);
  }
  Node& node = call.add_node(Op::kTreeEnsemble, operands, 1,
                             {{"n_targets", call.get(TreeEnsembleAttributes::n_targets)}});
  call.copy(node, TreeEnsembleAttributes::aggregate_function,
            TreeEnsembleAttributes::leaf_targetids, TreeEnsembleAttributes::nodes_falseleafs,
            TreeEnsembleAttributes::nodes_falsenodeids, TreeEnsembleAttributes::nodes_featureids,
            TreeEnsembleAttributes::nodes_missing_value_tracks_true,
            TreeEnsembleAttributes::nodes_trueleafs, TreeEnsembleAttributes::nodes_truenodeids,
            TreeEnsembleAttributes::tree_roots);
  SLUICE_ASSIGN(call.results[0], transformed(call, &node.output(), kTransforms[transform]));
  return {};
}

}  // namespace sluice
