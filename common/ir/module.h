// Module: everything in one .sg file, that is graphs and the tables they share.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/base/digest.h"
#include "common/base/result.h"
#include "common/base/warnings.h"
#include "common/ir/graph.h"
#include "common/ir/requirements.h"
#include "common/ir/segment.h"
#include "common/symbolic/expression.h"

namespace sluice {

enum class Level : uint8_t { kTyped = 1, kPartitioned = 2, kLowered = 3, kScheduled = 4 };
std::string_view level_name(Level level);  // "typed", …
std::optional<Level> level_from_name(std::string_view name);

enum class StageId : uint8_t {
  kNone = 0,
  kPreprocess = 1,
  kOptimize = 2,
  kPartition = 3,
  kSubgraphOptimize = 4,
  kBuild = 5
};
// Returns "none", "preprocess", …, "subgraph-optimize", "build".
std::string_view stage_name(StageId stage);
std::optional<StageId> stage_from_name(std::string_view name);

class Module {
 public:
  Module();
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;
  ~Module();

  // Graphs. Ids are stable until compact().
  Graph& add_graph(std::string name, GraphRole role = GraphRole::kRoot);
  Graph& graph(GraphId id) const { return *graphs_[static_cast<size_t>(id)]; }
  bool has_graph(GraphId id) const {
    return id >= 0 && static_cast<size_t>(id) < graphs_.size() &&
           graphs_[static_cast<size_t>(id)] != nullptr;
  }
  // Every id is lower; some may be erased.
  GraphId graph_limit() const { return static_cast<GraphId>(graphs_.size()); }
  // The first graph: the model, or the subgraph of a split file.
  Graph& root() const { return graph(0); }
  void erase_graph(GraphId id);
  // Erases graphs that no node owns, no expression segment uses, and that are not roots. Linear.
  void erase_unowned();
  // Renumbers graphs, nodes, values and segments densely, without erased or unused ones. Graphs are
  // ordered by first mention, the root first. Symbols follow the values they are read from; those
  // of erased values refer to none (graph and value -1).
  void compact();

  // Types and storages.
  TypeId intern(const Type& type);
  const Type& type(TypeId id) const { return types_[static_cast<size_t>(id)]; }
  size_t type_count() const { return types_.size(); }
  StorageId intern(const Storage& storage);
  const Storage& storage(StorageId id) const { return storages_[static_cast<size_t>(id)]; }
  size_t storage_count() const { return storages_.size(); }
  // Returns a fixed dim when the expression is a constant, and an unknown one when the expression
  // is too long for readers (ExpressionTable::is_small).
  Dim make_dim(ExpressionId id) const;
  // Returns the expression of a dim, or nothing for an unknown dim.
  std::optional<ExpressionId> dim_expression(const Dim& dim);

  ExpressionTable expressions;
  Requirements requirements;  // over them

  // Constants. The make_* functions hash the bytes and return an equal segment if there is one.
  // Interned by kind, type and digest where these identify it.
  SegmentId add_segment(Segment segment);
  Segment& segment(SegmentId id) { return segments_[static_cast<size_t>(id)]; }
  const Segment& segment(SegmentId id) const { return segments_[static_cast<size_t>(id)]; }
  size_t segment_count() const { return segments_.size(); }
  // Makes a kSmall, kSplat or kHere constant, by size and content.
  SegmentId make_constant(TypeId type, std::vector<std::byte> bytes);
  SegmentId make_splat(TypeId type, std::span<const std::byte> element);
  // Makes result 0 of `graph` (role kExpression) over `inputs`. When an equal expression exists,
  // returns it and erases `graph`.
  SegmentId make_expression(TypeId type, GraphId graph, std::vector<SegmentId> inputs);
  // Makes parameter `index` of any graph that has it as an input. It is equal in every graph, so
  // that expressions over parameters are shared, too.
  SegmentId make_parameter(TypeId type, uint32_t index);
  // Returns the bytes of a kSmall or kBytes segment. Maps files on first use and keeps them mapped.
  // Thread-safe.
  Result<std::span<const std::byte>> bytes(SegmentId id) const;

  // Kernels.
  KernelId add_kernel(const Kernel& kernel);  // equal kernels share an id
  const Kernel& kernel(KernelId id) const { return kernels_[static_cast<size_t>(id)]; }
  Kernel& kernel(KernelId id) { return kernels_[static_cast<size_t>(id)]; }
  size_t kernel_count() const { return kernels_.size(); }

  // The user's ONNX nodes, as origins refer to them.
  uint32_t add_onnx_node(std::string_view name);  // interned
  const std::string& onnx_node(uint32_t index) const { return onnx_nodes_[index]; }
  size_t onnx_node_count() const { return onnx_nodes_.size(); }

  // Facts of the header and of the names buffer.
  Level level = Level::kTyped;
  StageId last_stage = StageId::kNone;
  // For a graph whose stage stopped half-way: all passes that the stage after last_stage was to
  // run, in order; otherwise empty.
  std::vector<std::string> passes;
  size_t passes_done = 0;                      // the number of them that ran; less than all
  std::map<std::string, std::string> options;  // semantic options
  std::vector<Digest> made_from;               // file digests, the newest first
  std::string producer;                        // of the ONNX model
  std::string source;                          // where it was read from, for messages; not stored
  // The types of the root's outputs that the ONNX model declares, by name, until types are
  // inferred; not stored.
  std::map<std::string, TypeId> declared_outputs;
  Warnings warnings;  // of its import, until they are printed; not stored
  bool is_mid_stage() const { return passes_done > 0; }

 private:
  struct Files;
  std::vector<GraphId> compact_order() const;
  std::vector<std::unique_ptr<Graph>> graphs_;
  StableVector<Type> types_;
  std::map<Type, TypeId> type_index_;
  StableVector<Storage> storages_;
  std::map<Storage, StorageId> storage_index_;
  StableVector<Segment> segments_;
  std::map<std::tuple<SegmentKind, TypeId, Digest>, SegmentId> segment_index_;
  std::vector<Kernel> kernels_;
  std::vector<std::string> onnx_nodes_;
  std::map<std::string, uint32_t, std::less<>> onnx_node_index_;
  std::shared_ptr<Files> files_;
};

// Computes SHA-256 over the computation of the graph: ops, attributes, types, wiring, bodies, and
// constants by digest; no names, no placement, no ids.
Digest graph_digest(const Graph& graph);

}  // namespace sluice
