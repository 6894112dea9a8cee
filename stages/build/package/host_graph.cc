#include <map>

#include "common/ir/clone.h"
#include "stages/build/package/emit_model.h"

namespace sluice {

Module make_host_graph(const Graph& part, const TaskList& list) {
  Module host;
  Graph& graph = host.add_graph("host");
  ModuleMapper mapper(part.module(), host);
  std::vector<Value*> values(part.value_limit(), nullptr);
  for (const Task& task : list.tasks) {
    if (task.kind != TaskKind::kHost) continue;
    for (const Value* input : task.inputs) {
      if (input != nullptr)
        values[static_cast<size_t>(input->id())] =
            &graph.add_input(mapper.type(input->type_id()), input->name());
    }
    mapper.clone_node(*task.node, graph, values);
  }
  host.level = Level::kLowered;
  return host;
}

}  // namespace sluice
