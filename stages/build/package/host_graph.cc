#include "common/ir/clone.h"
#include "stages/build/package/emit_model.h"
#include "stages/build/parts.h"

namespace sluice {

Module make_host_graph(const Graph& part) {
  Module host;
  Graph& graph = host.add_graph("host");
  ModuleMapper mapper(part.module(), host);
  std::vector<Value*> values(part.value_limit(), nullptr);
  for (const Node* task : tasks_of(part)) {
    if (task_kind(*task) != TaskKind::kHost) continue;
    for (size_t i = 0; i < task->input_count(); ++i) {
      const Value* input = task->input(i);
      if (input != nullptr)
        values[static_cast<size_t>(input->id())] =
            &graph.add_input(mapper.type(input->type_id()), input->name());
    }
    mapper.clone_node(*task, graph, values);
  }
  host.level = Level::kLowered;
  return host;
}

}  // namespace sluice
