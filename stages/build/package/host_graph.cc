#include <map>

#include "common/ir/clone.h"
#include "stages/build/package/emit_model.h"

namespace sluice {

Module make_host_graph(const Graph& part, const StepList& list) {
  Module host;
  Graph& graph = host.add_graph("host");
  ModuleMapper mapper(part.module(), host);
  std::vector<Value*> values(part.value_limit(), nullptr);
  for (const Step& step : list.steps) {
    if (step.kind != StepKind::kHost) continue;
    for (const Value* input : step.inputs) {
      if (input != nullptr) values[static_cast<size_t>(input->id())] = &graph.add_input(mapper.type(input->type_id()), input->name());
    }
    mapper.clone_node(*step.node, graph, values);
  }
  host.level = Level::kLowered;
  return host;
}

}  // namespace sluice
