// Replaces ZipMap by its input tensor, with --zipmap=tensor.
//
//   before:  %maps = ZipMap(%scores, %keys)
//   after:   %maps = Identity(%scores)
//
// Legal because the user asked for the tensor under the name of the maps. sluice-optimize removes
// the Identity.
#include "common/base/work.h"
#include "stages/preprocess/passes/passes.h"

namespace sluice {
namespace {

bool normalize_zipmaps(Graph& graph) {
  bool changed = false;
  add_work(Work::kNodeVisits, graph.node_count());
  for (Node& node : graph.nodes()) {
    if (node.op() == Op::kZipMap) {
      node.remove_last_input();
      node.set_op(Op::kIdentity);
      node.output().set_type(node.input(0)->type_id());
      changed = true;
    }
    for (const GraphId body : node.bodies())
      changed = normalize_zipmaps(graph.module().graph(body)) || changed;
  }
  return changed;
}

}  // namespace

Result<bool> normalize_zipmap(Graph& graph, const Options& options) {
  return options.text("zipmap") == "tensor" && normalize_zipmaps(graph);
}

}  // namespace sluice
