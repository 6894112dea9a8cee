// Makes values dense that a node on an engine without formats, or another part, reads or produces.
//
//   before:  %a: storage nhwc = Relu(%x) placement {engine = vector}
//            %y = NonZero(%a) placement {engine = host_cpu}
//   after:   the same without the storage
//
// Where nodes run one by one, each value has memory of its own, as large as it is dense: there rows
// of a wider value are dropped, too.
//
// Legal because a storage never changes a value's type, and kernels are generated for any. Formats
// were chosen before engines were: sizes that only a run sets put nodes on host_cpu that vector
// would take otherwise. A TransData between equal storages gives its operand back.
#include <algorithm>

#include "common/base/work.h"
#include "common/ir/module.h"
#include "common/ir/value_storage.h"
#include "common/pass/control_edges.h"
#include "common/target/formats.h"
#include "stages/partition/passes/passes.h"

namespace sluice {
namespace {

bool can_have_storage(const Value& value) {
  const bool has_own_memory = value.graph().shapes == ShapeClass::kDynamic;
  return !value.is_output() && !(has_own_memory && row_axis(value)) &&
         value.producer() != nullptr && takes_formats(value.producer()->placement.engine) &&
         std::ranges::all_of(value.uses(), [](const Use& use) {
           return takes_formats(use.node->placement.engine);
         });
}

// Returns whether readers of the copy can read its operand, under the copy's name if it is an
// output.
bool can_replace(const Node& copy) {
  const Value& operand = *copy.input(0);
  if (copy.placement.keep || operand.storage_id() != copy.output().storage_id()) return false;
  return !copy.output().is_output() || (operand.producer() != nullptr && !operand.is_output());
}

bool drop(Graph& graph) {
  bool changed = false;
  add_work(Work::kNodeVisits, graph.node_count());
  for (Value& value : graph.values()) {
    if (value.is_erased() || value.storage() == nullptr || can_have_storage(value)) continue;
    value.set_storage(-1);
    changed = true;
  }
  if (!changed) return false;
  ControlEdges control(graph);
  for (Node& node : graph.nodes()) {
    if (node.op() != Op::kTransData || !can_replace(node)) continue;
    if (node.output().is_output()) node.input(0)->set_name(node.output().name());
    graph.replace_all_uses(node.output(), *node.input(0));
    control.transfer({&node}, {});
    graph.erase_node(node);
  }
  return true;
}

}  // namespace

Result<bool> drop_formats(Graph& graph, const Options&) {
  bool changed = drop(graph);
  for (const Node& node : graph.nodes()) {
    Graph* callee = called_graph(node);
    if (callee != nullptr && callee->role == GraphRole::kPart) changed = drop(*callee) || changed;
  }
  return changed;
}

}  // namespace sluice
