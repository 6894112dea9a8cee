// Gives the buffers of the arena a class of the device's memory, where its profile names classes:
// that which a node names that makes a value of the buffer, otherwise the first.
//
//   before:  buffer b0 = arena bytes 64
//            %a at b0 = Neg(%x) placement {memory_class = "p2p"}
//   after:   memory "hbm"   memory "p2p"
//            buffer b0 = arena "p2p" bytes 64   ...
//
// All values of a buffer have one class: assign-buffers and mark-no-task keep those of different
// classes apart. Inputs and outputs lie where the caller has them.
#include "common/ir/module.h"
#include "common/target/profile.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

Result<void> assign(Graph& graph, const DeviceProfile& profile) {
  graph.memories.clear();
  for (const MemoryClassLimits& each : profile.memory_classes)
    graph.memories.push_back({each.name});
  for (const Node* task : tasks_of(graph)) {
    if (task->placement.memory_class.empty()) continue;  // buffers are of the first
    auto index = find_memory_class(profile, task->placement.memory_class);
    if (!index) return std::move(index).error().within(task->label());
    for (size_t k = 0; k < task->output_count(); ++k) {
      const int32_t id = task->output(k).place().buffer;
      if (id < 0) continue;
      MemoryBuffer& buffer = graph.buffers[static_cast<size_t>(id)];
      if (buffer.memory == MemoryClass::kArena) buffer.binding = static_cast<uint32_t>(*index);
    }
  }
  return {};
}

}  // namespace

Result<bool> assign_memory_classes(Graph& root, const Options& options) {
  SLUICE_ASSIGN(const DeviceProfile profile, get_profile(options.text("profile")));
  for (Graph* graph : scheduled_graphs(root)) SLUICE_TRY(assign(*graph, profile));
  return true;
}

}  // namespace sluice
