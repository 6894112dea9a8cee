// The walk over a root graph, which leaves to its caller the Calls of parts and the launches of
// nodes that name kernels of the compiled model.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "common/eval/eval.h"
#include "runtime/loader/host_engine.h"

namespace sluice {

// For each symbol of a module, the requirements that mention it, by their index.
using RequirementsOf = std::vector<std::vector<uint32_t>>;
RequirementsOf requirements_of_symbols(const Module& module);

// The values of the symbols in a graph's dims, bound one after the other as values are made.
class SymbolValues {
 public:
  SymbolValues(const Module& module, const RequirementsOf& requirements)
      : module_(module),
        requirements_(requirements),
        values_(module.expressions.symbol_count(), kOpen) {}

  // Binds symbols from a value of this type and these dims. The first value that binds a symbol
  // decides it. Error: kBadShape for a size that the module's requirements, or its facts about a
  // symbol, exclude.
  Result<void> bind(const Value& value, std::span<const int64_t> dims);
  // Returns nullopt when a dim is unknown or negative, or its symbols are not bound yet.
  std::optional<std::vector<int64_t>> extents(const Type& type) const;

 private:
  static constexpr int64_t kOpen = -1;
  std::optional<int64_t> value(ExpressionId id) const;  // nullopt: its symbols are not all bound
  Result<void> check(SymbolId symbol, const Value& value, size_t axis) const;

  const Module& module_;
  const RequirementsOf& requirements_;
  std::vector<int64_t> values_;  // by SymbolId
};

// One walk. node_kernels contains for each node, by its position in the graph, 1 + its kernel, or 0
// for none. All arguments outlive the walk.
class GraphWalk {
 public:
  GraphWalk(const Graph& graph, std::span<const uint32_t> positions,
            const RequirementsOf& requirements, const GraphHooks& hooks)
      : graph_(graph),
        positions_(positions),
        hooks_(hooks),
        symbols_(graph.module(), requirements) {}
  GraphWalk(const GraphWalk&) = delete;
  GraphWalk& operator=(const GraphWalk&) = delete;

  void bind_input(size_t index, const HostValue& value);
  void note(const Value& value, const EvalValue& made);
  // The sizes of a value that was noted do not fit: kBadShape. Nodes that run() computes fail with
  // it; others compare sizes themselves.
  const Result<void>& sizes_fit() const { return sizes_fit_; }
  bool takes(const Node& node) const { return is_call(node) || kernel_of(node) != 0; }
  // Runs a node. Errors: kBadShape for an operand of other dims than its type has; those of the
  // hooks.
  Result<std::vector<EvalValue>> run(const Node& node, std::span<const TensorView> inputs);

 private:
  struct Operands;
  void note(Result<void> bound);
  static bool is_call(const Node& node) { return node.op() == Op::kCall; }
  uint32_t kernel_of(const Node& node) const;
  Result<std::vector<EvalValue>> call_part(const Node& node,
                                           std::span<const TensorView> inputs) const;
  Result<std::vector<EvalValue>> launch(const Node& node, std::span<const TensorView> inputs) const;
  Result<void> add_result(const Value& result, Operands& operands,
                          std::vector<EvalValue>& results) const;
  Result<void> add_input(const Node& node, size_t index, const TensorView& input,
                         Operands& operands) const;

  const Graph& graph_;
  std::span<const uint32_t> positions_;  // by node id
  const GraphHooks& hooks_;
  SymbolValues symbols_;
  Result<void> sizes_fit_;
};

}  // namespace sluice
