// Gives every output of a part memory that some task writes. An output is written by its producer,
// or by that of the value it is a view of; where there is none, or the value is an output already,
// a copy fills it.
//
//   before:  graph @main(%x, %w = constant) -> (%x, %y, %y) { %y = Relu(%x) }
//   after:   graph @main(%x, %w = constant) -> (%x, %y, %y) {
//              %y = Relu(%x)
//              %0 = MemCopy(%x) {output = 0}
//              %1 = MemCopy(%y) {output = 2}
//            }
//
// Legal because the copies are read by nobody but the caller, as that output.
#include <set>

#include "common/ops/attributes.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

void add_copy(Graph& graph, size_t output) {
  Value& value = *graph.outputs()[output];
  Node& copy = graph.add_node(Op::kMemCopy, {&value});
  copy.output().set_type(value.type_id());
  copy.output().set_storage(value.storage_id());
  copy.set(attributes::MemCopy::output, static_cast<int64_t>(output));
  copy.set_name(value.name());
  copy.placement.engine = EngineId::kRts;
}

bool add_copies(Graph& graph) {
  std::set<const Value*> written;
  bool changed = false;
  for (Node& node : graph.nodes()) {  // a copy of the user's fills no output
    if (!copied_output(node)) continue;
    node.remove(attributes::MemCopy::output);
    changed = true;
  }
  for (size_t k = 0; k < graph.outputs().size(); ++k) {
    const Value& base = viewed(*graph.outputs()[k]);
    if (base.producer() != nullptr && written.insert(&base).second) continue;
    add_copy(graph, k);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> insert_output_copies(Graph& root, const Options&) {
  bool changed = false;
  for (Graph* graph : scheduled_graphs(root)) changed = add_copies(*graph) || changed;
  return changed;
}

}  // namespace sluice
