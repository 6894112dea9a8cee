#include "common/pass/inline_body.h"

#include "common/ir/clone.h"

namespace sluice {

std::vector<Value*> inline_body(Node& node, const Graph& body) {
  Graph& graph = node.graph();
  const size_t first = node.input_count() - body.inputs().size();
  std::vector<Value*> values(body.value_limit(), nullptr);
  for (size_t i = 0; i < body.inputs().size(); ++i)
    values[static_cast<size_t>(body.inputs()[i]->id())] = node.input(first + i);
  ModuleMapper mapper(graph.module(), graph.module());
  for (const Node& inner : body.nodes()) mapper.clone_node(inner, graph, values, &node);
  std::vector<Value*> results;
  for (const Value* output : body.outputs())
    results.push_back(mapper.value(*output, graph, values));
  return results;
}

}  // namespace sluice
