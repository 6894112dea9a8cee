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

// The values of the symbols in a graph's dims, bound one after the other as values are made.
class SymbolValues {
 public:
  explicit SymbolValues(const ExpressionTable& expressions)
      : expressions_(expressions), values_(expressions.symbol_count(), kOpen) {}

  // Binds symbols from a value of this type and these dims. The first value that binds a symbol
  // decides it.
  void bind(const Type& type, std::span<const int64_t> dims);
  // Returns nullopt when a dim is unknown or negative, or its symbols are not bound yet.
  std::optional<std::vector<int64_t>> extents(const Type& type) const;

 private:
  static constexpr int64_t kOpen = -1;

  const ExpressionTable& expressions_;
  std::vector<int64_t> values_;  // by SymbolId
};

// One walk. node_kernels contains for each node, by its position in the graph, 1 + its kernel, or 0
// for none. All arguments outlive the walk.
class GraphWalk {
 public:
  GraphWalk(const Graph& graph, std::span<const uint32_t> positions, const GraphHooks& hooks)
      : graph_(graph), positions_(positions), hooks_(hooks), symbols_(graph.module().expressions) {}
  GraphWalk(const GraphWalk&) = delete;
  GraphWalk& operator=(const GraphWalk&) = delete;

  void bind_input(size_t index, const HostValue& value);
  void note(const Value& value, const EvalValue& made);
  bool takes(const Node& node) const { return is_call(node) || kernel_of(node) != 0; }
  // Runs a node. Errors: kBadShape for an operand of other dims than its type has; those of the
  // hooks.
  Result<std::vector<EvalValue>> run(const Node& node, std::span<const TensorView> inputs);

 private:
  struct Operands;
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
};

}  // namespace sluice
