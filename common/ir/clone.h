// Copies of graphs, within a module or into another one.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "common/ir/module.h"

namespace sluice {

// Copies types, symbols, expressions, storages, segments, kernels, origins and bodies from one
// module to another, each once. Source and target may be the same module; then everything but
// graphs maps to itself.
class ModuleMapper {
 public:
  ModuleMapper(const Module& source, Module& target) : source_(source), target_(target) {}
  // Gives copies this size wherever the source has the symbol. Must be called before anything is
  // copied, and only between two modules.
  void fix_symbol(SymbolId symbol, int64_t size) { sizes_[symbol] = size; }

  ExpressionId expression(ExpressionId id);
  TypeId type(TypeId id);
  Dim dim(const Dim& dim);
  StorageId storage(StorageId id);
  SegmentId segment(SegmentId id);
  KernelId kernel(KernelId id);
  std::vector<uint32_t> origins(const std::vector<uint32_t>& origins);
  AttributeValue attribute(const AttributeValue& value);  // bodies are cloned
  // Returns a new graph equal to `graph`, bodies included.
  Graph& clone(const Graph& graph);
  // Adds a copy of `node` to `into`. Its inputs are looked up in `values` (by source value id;
  // constants are copied on first use), and its results are entered there.
  Node& clone_node(const Node& node, Graph& into, std::vector<Value*>& values,
                   Node* before = nullptr);
  // As above, with the copy's inputs given, null where absent. Costs the same in a graph of any
  // size, so it is for a few nodes of a large one.
  Node& clone_node(const Node& node, const std::vector<Value*>& inputs, Graph& into,
                   Node* before = nullptr);
  // Returns the value of `into` for the source value: from `values`, or a copied constant.
  Value* value(const Value& value, Graph& into, std::vector<Value*>& values);
  Value& clone_constant(const Value& value, Graph& into);

 private:
  bool same() const { return &source_ == &target_; }
  void copy_schedule(const Graph& source, const std::vector<Value*>& values,
                     const std::vector<Node*>& nodes, Graph& copy);
  std::optional<int64_t> fixed_size(const Expression& expression) const;

  const Module& source_;
  Module& target_;
  std::map<SymbolId, int64_t> sizes_;
  std::map<TypeId, TypeId> types_;
  std::map<ExpressionId, ExpressionId> expressions_;
  std::map<SegmentId, SegmentId> segments_;
  std::map<GraphId, GraphId> expression_graphs_;
};

}  // namespace sluice
