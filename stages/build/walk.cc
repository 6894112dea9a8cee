#include "stages/build/walk.h"

#include <algorithm>

#include "common/ir/fixed.h"
#include "common/ir/module.h"
#include "common/ir/states.h"
#include "common/ir/value_storage.h"
#include "common/symbolic/any_symbol.h"

namespace sluice {
namespace {

bool calls_part(const Node& node) {
  const Graph* callee = called_graph(node);
  return callee != nullptr && callee->role == GraphRole::kPart;
}

// The symbols that are a dim of a value produced so far, by SymbolId.
class BoundSymbols {
 public:
  explicit BoundSymbols(const ExpressionTable& expressions)
      : expressions_(expressions), bound_(expressions.symbol_count(), false) {}

  void bind(const Type& type) {
    for (const Dim& dim : type.dims) {
      if (!dim.is_expression()) continue;
      const Expression& e = expressions_[static_cast<ExpressionId>(dim.value)];
      if (e.op == ExpressionOp::kSymbol) bound_[static_cast<size_t>(e.value)] = true;
    }
  }

  bool covers(const Type& type) const {
    return has_computed_size(type) &&
           std::all_of(type.dims.begin(), type.dims.end(), [&](const Dim& dim) {
             return !dim.is_expression() || covers(static_cast<ExpressionId>(dim.value));
           });
  }

 private:
  bool covers(ExpressionId id) const {
    return !any_symbol(expressions_, id,
                       [&](SymbolId symbol) { return !bound_[static_cast<size_t>(symbol)]; });
  }

  const ExpressionTable& expressions_;
  std::vector<bool> bound_;
};

// Returns whether the sizes of all values of the node are bound, in memory as large as they are
// dense.
bool has_bound_sizes(const Node& node, const BoundSymbols& symbols) {
  const auto is_bound = [&](const Value& value) {
    return symbols.covers(value.type()) && !row_axis(value);
  };
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && !is_bound(*node.input(i))) return false;
  }
  for (size_t k = 0; k < node.output_count(); ++k) {
    if (!is_bound(node.output(k))) return false;
  }
  return true;
}

// Removes the launches of nodes that share a value with a node without one, if it is not stored
// dense.
class Spread {
 public:
  explicit Spread(std::vector<bool>& launches) : launches_(launches) {}

  void from(const Node& node) {
    open_.push_back(&node);
    while (!open_.empty()) {
      const Node& next = *open_.back();
      open_.pop_back();
      for (size_t i = 0; i < next.input_count(); ++i) {
        if (next.input(i) != nullptr) take(*next.input(i));
      }
      for (size_t k = 0; k < next.output_count(); ++k) take(next.output(k));
    }
  }

 private:
  void take(const Value& value) {
    if (value.storage_id() < 0) return;
    if (value.producer() != nullptr) take(*value.producer());
    for (const Use& use : value.uses()) take(*use.node);
  }
  void take(const Node& node) {
    std::vector<bool>::reference launch = launches_[static_cast<size_t>(node.id())];
    if (launch) open_.push_back(&node);
    launch = false;
  }

  std::vector<bool>& launches_;
  std::vector<const Node*> open_;
};

}  // namespace

bool is_walked(const Graph& root) {
  return root.shapes != ShapeClass::kFixed || has_states(root) ||
         std::any_of(root.nodes().begin(), root.nodes().end(), calls_part) ||
         !dynamic_values(root).empty();
}

std::vector<bool> find_launches(const Graph& root) {
  std::vector<bool> launches(root.node_limit(), false);
  BoundSymbols symbols(root.module().expressions);
  for (const Value* input : root.inputs()) symbols.bind(input->type());
  for (const Node& node : root.nodes()) {
    launches[static_cast<size_t>(node.id())] =
        node.placement.kernel >= 0 && has_bound_sizes(node, symbols);
    for (size_t k = 0; k < node.output_count(); ++k) symbols.bind(node.output(k).type());
  }
  Spread spread(launches);
  for (const Node& node : root.nodes()) {
    if (!launches[static_cast<size_t>(node.id())]) spread.from(node);
  }
  return launches;
}

}  // namespace sluice
