// Gives every value of a part a place in a buffer: a part's own, or the memory of a constant, an
// input or an output. Values that share bytes lie in one buffer (shared_values.h), pieces of a
// whole at their offsets in it. Live ranges say which tasks need a buffer; its own offset comes
// later. What a node without a task shows is complete after the last task that makes it.
//
//   before:  %a = Relu(%x)           %y = Reshape(%a, %s) placement {_no_task}
//   after:   buffer b0 = input 0 bytes 64 live "main" [0, 0]
//            buffer b1 = output 0 bytes 64 live "main" [0, 0]
//            %a at b1 = Relu(%x)     %y at b1 = Reshape(%a, %s) placement {complete_after = 0, …}
#include <algorithm>

#include "common/base/log.h"
#include "common/ir/module.h"
#include "common/ir/value_storage.h"
#include "common/ops/value_bytes.h"
#include "stages/build/memory/complete_views.h"
#include "stages/build/memory/held_tasks.h"
#include "stages/build/memory/shared_values.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

// Returns the type whose rows are the wider ones that the value's rows are parts of; -1: they are
// parts of none.
TypeId capacity_of(const Value& value) {
  if (!row_axis(value)) return -1;
  const Storage& storage = *value.storage();
  std::vector<Dim> dims = value.type().dims;
  for (size_t i = 0; i < storage.map.size(); ++i) {
    const StoredAxis& axis = storage.map[i];
    if (axis.divisor == 1 && axis.modulus == 0)
      dims[static_cast<size_t>(axis.dim)] = storage.dims[i];
  }
  return value.graph().module().intern(Type::tensor(value.type().dtype, std::move(dims)));
}

class BufferAssigner {
 public:
  BufferAssigner(Graph& graph, const NoReuse& no_reuse)
      : graph_(graph), shared_(graph, no_reuse), held_(shared_.order()) {
    uint32_t count = 0;
    inputs_.resize(graph.value_limit(), 0);
    for (const Value* input : graph.inputs())
      inputs_[static_cast<size_t>(input->id())] = input->is_constant() ? 0 : count++;
  }

  void run() {
    graph_.buffers.clear();
    buffers_.assign(graph_.value_limit(), -1);
    for (Value* input : graph_.inputs()) place(*input);
    for (Value& value : graph_.values()) {
      if (!value.is_erased() && !value.is_input() && value.producer() == nullptr) place(value);
    }
    for (Node& node : graph_.nodes()) {
      for (size_t k = 0; k < node.output_count(); ++k) place(node.output(k));
    }
  }

 private:
  // Buffers are numbered in the order of the graph, which a file keeps, and not in that of ids.
  void place(Value& value) {
    if (!needs_place(value)) return;
    int32_t& buffer = buffers_[static_cast<size_t>(shared_.find(value))];
    if (buffer < 0) buffer = add_buffer(value);
    value.set_place({buffer, shared_.offset(value), value_bytes(value), capacity_of(value)});
  }

  // A value that no task touches has no bytes, but for inputs, outputs and what has a view.
  bool needs_place(const Value& value) {
    const SharedBytes& bytes = shared_.of(value);
    return !bytes.live.empty() || bytes.input != nullptr || bytes.output >= 0 || bytes.has_view;
  }

  int32_t add_buffer(const Value& value) {
    const SharedBytes& bytes = shared_.of(value);
    MemoryBuffer buffer;
    buffer.bytes = shared_.bytes(value);
    if (bytes.constant != nullptr) {
      buffer.memory = MemoryClass::kWeights;
      buffer.bytes = value_bytes(*bytes.constant);
    } else if (bytes.input != nullptr) {
      buffer.memory = MemoryClass::kInput;
      buffer.binding = inputs_[static_cast<size_t>(bytes.input->id())];
    } else if (bytes.output >= 0) {
      buffer.memory = MemoryClass::kOutput;
      buffer.binding = static_cast<uint32_t>(bytes.output);
    }
    if (buffer.memory != MemoryClass::kWeights) {
      for (const auto& [stream, range] : bytes.live) buffer.live.push_back(range);
    }
    if (buffer.memory == MemoryClass::kArena) buffer.held = held_.of(buffer);
    graph_.buffers.push_back(std::move(buffer));
    return static_cast<int32_t>(graph_.buffers.size() - 1);
  }

  Graph& graph_;
  SharedValues shared_;
  HeldTasks held_;
  std::vector<uint32_t> inputs_;  // by value id: the index among inputs that are no constants
  std::vector<int32_t> buffers_;  // by representative of those that share bytes; -1: none yet
};

}  // namespace

Result<bool> assign_buffers(Graph& root, const Options& options) {
  const NoReuse no_reuse(options);
  const std::vector<Graph*> graphs = scheduled_graphs(root);
  for (Graph* graph : graphs) {
    SLUICE_TRY(check_streams(*graph));
    BufferAssigner(*graph, no_reuse).run();
    complete_views(*graph);
  }
  for (const std::string& glob : no_reuse.unused(graphs))
    log_warning("sluice-build", fmt::format("--disable-reuse-memory: '{}' fits no node", glob));
  return true;
}

}  // namespace sluice
