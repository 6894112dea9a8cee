#include "common/tools/show_onnx/plain.h"

#include <algorithm>

#include "common/ops/attributes.h"
#include "common/pass/inline_body.h"

namespace sluice {
namespace {

// Gives the readers of a result another value. A value that comes from outside the node has a name
// of its own, so an output is then a copy.
void replace_result(Node& node, size_t index, Value& by, bool is_from_outside) {
  Graph& graph = node.graph();
  Value& result = node.output(index);
  const std::string name = result.name();
  Value* value = &by;
  if (is_from_outside && result.is_output()) {
    Node& copy = graph.add_node(Op::kIdentity, {&by}, 1, &node);
    value = &copy.output();
    value->set_type(result.type_id());
  }
  graph.replace_all_uses(result, *value);
  if (!name.empty() && (value != &by || !is_from_outside)) value->set_name(name);
}

void inline_fused(Node& node) {
  const Graph& body = *node.get(attributes::Fused::body);
  const std::vector<Value*> results = inline_body(node, body);
  std::vector<const Value*> seen;
  for (size_t i = 0; i < results.size(); ++i) {
    const bool is_repeated = std::ranges::find(seen, results[i]) != seen.end();
    const bool is_from_outside = body.outputs()[i]->producer() == nullptr || is_repeated;
    replace_result(node, i, *results[i], is_from_outside);
    seen.push_back(results[i]);
  }
  node.graph().erase_node(node);
}

void leave_out_copy(Node& node) {
  replace_result(node, 0, *node.input(0), true);
  node.graph().erase_node(node);
}

void make_plain(Graph& graph) {
  for (bool again = true; again;) {  // a fused body may have Fused nodes
    again = false;
    for (Node& node : graph.nodes()) {
      const bool is_copy = node.op() == Op::kTransData || node.op() == Op::kMemCopy;
      if (is_copy) leave_out_copy(node);
      if (node.is_erased() || node.op() != Op::kFused) continue;
      inline_fused(node);
      again = true;
    }
  }
}

}  // namespace

void make_plain(Module& module) {
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    const bool is_body = module.has_graph(id) && module.graph(id).role == GraphRole::kFused;
    if (module.has_graph(id) && !is_body) make_plain(module.graph(id));
  }
  module.erase_unowned();
}

}  // namespace sluice
