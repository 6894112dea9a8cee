// Emits the ModelDef of planned parts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "model.pb.h"

namespace sluice {

// The kernel objects in the order of first launch, and the kernels' new ids.
struct KernelStore {
  std::vector<SegmentId> objects;
  std::vector<uint64_t> offsets;  // of objects within the kernels segment
  // By KernelId of the module: index into ModelDef.kernels, -1 for unused ones.
  std::vector<int32_t> kernel_ids;
  uint64_t bytes = 0;
};

// Emits the tables that all parts share: types, nodes, kernels. Segments are emitted elsewhere.
class ModelEmitter {
 public:
  ModelEmitter(const Module& module, KernelStore& kernels) : module_(module), kernels_(kernels) {
    kernels_.kernel_ids.assign(module.kernel_count(), -1);
  }

  // Emits version, profile, options and signature: the inputs and outputs of `graph`, and, when
  // some part is symbolic, their dims, from which all sizes are computed. Returns kNotBuildable for
  // types that a compiled model cannot express.
  Result<void> emit_signature(const Graph& graph, bool has_symbolic);
  // Emits one scheduled part. Returns kNotBuildable when the whole model is one part and a value is
  // to be appended to in place, which only states are.
  Result<void> emit_part(const Graph& graph, bool under_root);
  // Emits the nodes of a root graph, in order, and the states that its parts keep in place. Must
  // run after the parts. Returns kNotBuildable when a value that is not a state is to be appended
  // to in place.
  Result<void> emit_root(const Graph& root, const std::vector<bool>& launches);
  pb::ModelDef finish();

 private:
  friend class PartEmitter;
  Result<void> emit_header();
  Result<void> check_kernels() const;
  uint32_t type_index(const Type& type);
  uint32_t storage_index(const StorageMap& map);
  uint32_t emit_node(const std::string& name, const std::string& op, std::string_view engine,
                     uint64_t multiply_adds);
  uint32_t emit_node(const Node& node, EngineId engine);  // engine: the one that runs it
  void emit_fused_values(const Node& node, uint32_t index);
  uint32_t kernel_index(KernelId id);
  void emit_symbols(const Graph& graph);
  void emit_requirements();
  Result<void> emit_states(const Node& call, pb::FixedPart& part);
  void emit_tensor(const Type& type, pb::TypeDef& def);
  uint32_t size_index(ExpressionId id);

  const Module& module_;
  KernelStore& kernels_;
  pb::ModelDef model_;
  pb::NodeNamesDef node_names_;
  std::map<SegmentId, size_t> objects_;  // index into the kernel store
  std::map<Type, uint32_t> types_;
  std::map<StorageMap, uint32_t> storages_;
  std::map<std::string, uint32_t> ops_, engines_;
  std::map<SymbolId, uint32_t> symbols_;  // index into the sizes' symbols
  // 1 + the index of an expression; 0: it is of other symbols.
  std::map<ExpressionId, uint32_t> sizes_;
};

// Returns the name of a node for people: that of the model, of its first result, or its op and id.
std::string shown_name(const Node& node);

// Makes the graph that contains the nodes of a part's host tasks, each alone with inputs and
// results of its own; node ids are the order of the tasks. Without host tasks the module has no
// graph.
Module make_host_graph(const Graph& part);

}  // namespace sluice
