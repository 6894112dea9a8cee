// Inserts copies where two readers or writers of the same bytes want different things of them. All
// pairs, with what is done and where:
//
//   | bytes of                          | wanted as                | done                        |
//   |-----------------------------------|--------------------------|-----------------------------|
//   | a task's result                   | an output                | nothing: its own memory     |
//   | a task's result, an output already| another output           | copied here                 |
//   | an input                          | an output                | copied here                 |
//   | a constant                        | an output                | copied here                 |
//   | a view                            | an output                | as what it shows            |
//   | a state, appended to in place     | the output paired        | nothing: the state's memory |
//   | a state, before that              | an operand, later too    | nothing: only what is behind|
//   |                                   |                          | its elements is written     |
//   | an input, a constant, an output, a| an operand of a Concat   | copied by mark-no-task, or  |
//   | piece of another whole            | that has no task         | the Concat keeps its task   |
//   | a whole that the results cannot   | the operand of a Split   | nothing: the Split keeps its|
//   | lie in                            |                          | task (mark-no-task)         |
//   | an operand that is read later, an | written over by a result | nothing: the result has its |
//   | input, a constant, an output      |                          | own (memory/shared_values.h)|
//   | a value in one class of memory    | a view in another        | copied here                 |
//   | a value of one storage            | one of another storage   | a TransData is there since  |
//   |                                   |                          | sluice-optimize             |
//
// The pairs of outputs:
//
//   before:  graph @main(%x, %w = constant) -> (%x, %y, %y) { %y = Relu(%x) }
//   after:   graph @main(%x, %w = constant) -> (%x, %y, %y) {
//              %y = Relu(%x)
//              %0 = MemCopy(%x) {output = 0}
//              %1 = MemCopy(%y) {output = 2}
//            }
//
// and, of classes of memory, those of views:
//
//   before:  %y = Reshape(%x, %s) placement {memory_class = "p2p", _no_task}
//   after:   %0 = MemCopy(%x) placement {memory_class = "p2p"}   %y = Reshape(%0, %s) ...
//
// Legal because the copies are read by nobody but the caller, as that output, or by the view.
//
// Must run after the passes that take copies out, and before mark-no-task, which must know which
// values are outputs themselves.
#include <set>

#include "common/ops/attributes.h"
#include "common/ops/pieces.h"
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

// A copy that the graph has already fills no output: it is a value like others.
bool release_copies(Graph& graph) {
  bool changed = false;
  for (Node& node : graph.nodes()) {
    if (!copied_output(node)) continue;
    node.remove(attributes::MemCopy::output);
    changed = true;
  }
  return changed;
}

bool add_copies(Graph& graph) {
  std::set<const Value*> outputs;  // asked only whether a value is one
  bool changed = release_copies(graph);
  for (size_t k = 0; k < graph.outputs().size(); ++k) {
    const Value& base = viewed(*graph.outputs()[k]);
    const bool is_first = outputs.insert(&base).second;
    if (is_first && base.producer() != nullptr) continue;
    add_copy(graph, k);
    changed = true;
  }
  return changed;
}

// Lets views that name a class of memory show a copy in it.
bool copy_views(Graph& graph) {
  bool changed = false;
  for (Node& node : graph.nodes()) {
    const std::string& wanted = node.placement.memory_class;
    if (!node.placement.no_task || is_piecewise(node) || wanted.empty()) continue;
    Value& shown = *node.input(0);
    if (memory_class_of(shown) == wanted) continue;
    Node& copy = graph.add_node(Op::kMemCopy, {&shown}, 1, &node);
    copy.output().set_type(shown.type_id());
    copy.output().set_storage(shown.storage_id());
    copy.set_name(node.name());
    copy.set_origins(node.origins());
    copy.placement.engine = EngineId::kRts;
    copy.placement.stream_label = node.placement.stream_label;
    copy.placement.memory_class = wanted;
    node.set_input(0, &copy.output());
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> resolve_conflicts(Graph& root, const Options&) {
  bool changed = false;
  for (Graph* graph : scheduled_graphs(root)) {
    changed = add_copies(*graph) || changed;
    changed = copy_views(*graph) || changed;
  }
  return changed;
}

}  // namespace sluice
