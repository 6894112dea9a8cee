#include "stages/preprocess/infer/failing_branches.h"

#include "common/ir/module.h"
#include "common/ops/attributes.h"
#include "common/ops/failing_branch.h"
#include "common/ops/op_table.h"

namespace sluice {
namespace {

bool has_only_good_signatures(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (!check_signature(node)) return false;
    for (const GraphId body : node.bodies()) {
      if (!has_only_good_signatures(graph.module().graph(body))) return false;
    }
  }
  return true;
}

}  // namespace

Result<void> fail_when_taken(Node& node, Graph& branch, Error error) {
  if (!is_of_sizes(error.code) || !has_only_good_signatures(branch)) return error;
  Module& module = branch.module();
  Graph& failing = module.add_graph(branch.name(), GraphRole::kBody);
  for (const Value* input : branch.inputs()) failing.add_input(input->type_id(), input->name());
  failing.captures = branch.captures;
  Node& fail = add_failing_node(failing, branch.outputs().size(), error.message);
  for (size_t i = 0; i < branch.outputs().size(); ++i)
    fail.output(i).set_name(branch.outputs()[i]->name());
  fail.add_origins(node.origins());
  module.warnings.add(Leniency::kFailingBranch,
                      failing_branch_text(node, branch.name(), error.message));
  for (const BodyAttribute& attribute :
       {attributes::If::then_branch, attributes::If::else_branch}) {
    if (node.get(attribute) == &branch) node.set(attribute, GraphRef{failing.id()});
  }
  return {};
}

}  // namespace sluice
