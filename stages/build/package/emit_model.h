// The ModelDef of planned parts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "model.pb.h"
#include "stages/build/memory/plan_memory.h"
#include "stages/build/tasks/tasks.h"

namespace sluice {

// Kernel objects in the order of first launch, and the kernels' new ids.
struct KernelStore {
  std::vector<SegmentId> objects;
  std::vector<uint64_t> offsets;  // of objects within the kernels segment
  std::vector<int32_t>
      kernel_ids;  // by KernelId of the module: index into ModelDef.kernels, -1 unused
  uint64_t bytes = 0;
};

// A graph that becomes a fixed part.
struct PlannedPart {
  const Graph* graph = nullptr;
  TaskList list;
  MemoryPlan plan;
};

// The tables that all parts share: types, nodes, kernels. Segments are not its business.
class ModelEmitter {
 public:
  ModelEmitter(const Module& module, KernelStore& kernels) : module_(module), kernels_(kernels) {
    kernels_.kernel_ids.assign(module.kernel_count(), -1);
  }

  // Version, profile, options, what the model takes and gives: the inputs and outputs of `graph`,
  // and when some part is symbolic, their dims as what all sizes are computed from. Error:
  // kNotBuildable for types that a compiled model has no words for.
  Result<void> emit_signature(const Graph& graph, bool has_symbolic);
  // Error: kNotBuildable when the whole model is one part and a value is to grow, which only states
  // do.
  Result<void> emit_part(const PlannedPart& part, bool under_root);
  // The nodes of a root graph, in order, and where its parts keep states in place. After the parts.
  // Error: kNotBuildable when a value is to grow that is no state.
  Result<void> emit_root(const Graph& root);
  pb::ModelDef finish();

 private:
  friend class PartEmitter;
  Result<void> emit_header();
  Result<void> check_kernels() const;
  uint32_t type_index(const Type& type);
  uint32_t emit_node(const std::string& name, const std::string& op, std::string_view engine,
                     uint64_t multiply_adds);
  uint32_t emit_node(const Node& node, EngineId engine);  // engine: what runs it
  uint32_t kernel_index(KernelId id);
  void emit_symbols(const Graph& graph);
  Result<void> emit_states(const Node& call, pb::FixedPart& part);
  void emit_tensor(const Type& type, pb::TypeDef& def);
  uint32_t size_index(ExpressionId id);

  const Module& module_;
  KernelStore& kernels_;
  pb::ModelDef model_;
  pb::NodeNamesDef node_names_;
  std::map<SegmentId, size_t> objects_;  // index into the kernel store
  std::map<Type, uint32_t> types_;
  std::map<std::string, uint32_t> ops_, engines_;
  std::map<SymbolId, uint32_t> symbols_;  // index into the sizes' symbols
  std::map<ExpressionId, uint32_t>
      sizes_;  // 1 + the index of an expression; 0: it is of other symbols
};

// The graph that holds the nodes of a part's host tasks, each alone with inputs and results of its
// own; node ids are the order of the tasks. Empty: no graph.
Module make_host_graph(const Graph& part, const TaskList& list);

}  // namespace sluice
