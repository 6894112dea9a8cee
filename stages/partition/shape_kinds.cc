#include "stages/partition/shape_kinds.h"

#include <algorithm>

#include "common/base/work.h"
#include "common/ir/fixed.h"
#include "common/ir/module.h"
#include "common/ops/attributes.h"
#include "common/ops/op_table.h"
#include "common/symbolic/any_symbol.h"
#include "stages/partition/shape_arithmetic.h"

namespace sluice {
namespace {

// Returns whether the node has operands that are computed while the model runs.
bool reads_at_run_time(const Node& node, size_t first = 0) {
  for (size_t i = first; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && !node.input(i)->is_constant()) return true;
  }
  return false;
}

// Returns whether results depend on data. A shape that the model promises does not help: the data
// may break the promise, and a known part would have no capacity for the result. The size of
// Compress's result depends on its condition alone.
bool depends_on_data(const Node& node) {
  const OpRow* row = find_op(node.op());
  const size_t first = node.op() == Op::kCompress ? 1 : 0;
  return row != nullptr && (row->flags & kDataDependent) != 0 && reads_at_run_time(node, first);
}

bool has_known_operands(const Node& node, const KnownTypes& known) {
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && !known.has(*node.input(i))) return false;
  }
  for (size_t k = 0; k < node.output_count(); ++k) {
    const Value& result = node.output(k);
    const bool is_nothing = !result.is_used() && result.type().kind == TypeKind::kUnknown;
    if (!is_nothing && !known.has(result)) return false;
  }
  return true;
}

bool has_known_values(const Graph& graph, const KnownTypes& known) {
  return std::all_of(graph.values().begin(), graph.values().end(), [&](const Value& value) {
    return value.is_erased() || !value.is_used() || known.has(value);
  });
}

bool is_unknown(const Graph& body, const KnownTypes& known);

// Returns whether a body is dynamic. The bodies of control flow were decided before; those of Fused
// nodes are searched here.
bool is_dynamic(const Graph& body, const KnownTypes& known) {
  return body.role == GraphRole::kBody ? body.shapes == ShapeClass::kDynamic
                                       : is_unknown(body, known);
}

bool is_unknown(const Node& node, const KnownTypes& known) {
  if (!has_known_operands(node, known) || depends_on_data(node)) return true;
  const std::vector<GraphId> bodies = node.bodies();
  return std::any_of(bodies.begin(), bodies.end(), [&](GraphId body) {
    return is_dynamic(node.graph().module().graph(body), known);
  });
}

bool is_unknown(const Graph& body, const KnownTypes& known) {
  if (body.shapes == ShapeClass::kDynamic || !has_known_values(body, known)) return true;
  add_work(Work::kNodeVisits, body.node_count());
  return std::any_of(body.nodes().begin(), body.nodes().end(),
                     [&](const Node& node) { return is_unknown(node, known); });
}

// Returns whether an operand is unknown; producers come before their readers.
bool reads_unknown(const Node& node, const std::vector<ShapeKind>& kinds) {
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Node* producer = node.input(i) == nullptr ? nullptr : node.input(i)->producer();
    if (producer != nullptr && kinds[static_cast<size_t>(producer->id())] == ShapeKind::kUnknown)
      return true;
  }
  return false;
}

}  // namespace

KnownTypes::KnownTypes(const Graph& root, bool symbolic)
    : module_(root.module()),
      symbolic_(symbolic),
      given_(module_.expressions.symbol_count(), false) {
  for (const Value* input : root.inputs()) {
    for (const Dim& dim : input->type().dims) {
      if (!dim.is_expression()) continue;
      const Expression& expression = module_.expressions[static_cast<ExpressionId>(dim.value)];
      if (expression.op == ExpressionOp::kSymbol)
        given_[static_cast<size_t>(expression.value)] = true;
    }
  }
}

bool KnownTypes::is_given(ExpressionId id) const {
  return !any_symbol(module_.expressions, id,
                     [&](SymbolId symbol) { return !given_[static_cast<size_t>(symbol)]; });
}

bool KnownTypes::has(const Type& type, const Graph& graph) const {
  if (type.is_fixed() || !symbolic_ || graph.role == GraphRole::kBody)
    return type.is_fixed() && type.dtype != DType::kString;
  return has_known_size(module_, type) &&
         std::all_of(type.dims.begin(), type.dims.end(), [&](const Dim& dim) {
           return !dim.is_expression() || is_given(static_cast<ExpressionId>(dim.value));
         });
}

int64_t operations_of(const Node& node) {
  const Graph* body = node.op() == Op::kFused ? node.get(attributes::Fused::body) : nullptr;
  return body == nullptr ? 1 : static_cast<int64_t>(body->node_count());
}

bool mark_dynamic_bodies(Graph& graph, const KnownTypes& known) {
  if (!graph.may_have_bodies()) return false;
  bool changed = false;
  add_work(Work::kNodeVisits, graph.node_count());
  for (const Node& node : graph.nodes()) {
    std::vector<Graph*> bodies;
    for (const GraphId id : node.bodies()) bodies.push_back(&graph.module().graph(id));
    for (Graph* body : bodies) changed = mark_dynamic_bodies(*body, known) || changed;
    if (std::none_of(bodies.begin(), bodies.end(),
                     [&](const Graph* body) { return is_unknown(*body, known); }))
      continue;
    for (Graph* body : bodies) {
      if (body->role != GraphRole::kBody || body->shapes == ShapeClass::kDynamic) continue;
      body->shapes = ShapeClass::kDynamic;
      changed = true;
    }
  }
  return changed;
}

std::vector<ShapeKind> find_shape_kinds(const Graph& graph, const KnownTypes& known) {
  std::vector<ShapeKind> kinds(graph.node_limit(), ShapeKind::kKnown);
  const std::vector<bool> arithmetic = find_shape_arithmetic(graph);
  add_work(Work::kNodeVisits, graph.node_count());
  for (const Node& node : graph.nodes()) {
    const auto id = static_cast<size_t>(node.id());
    const bool is_needed = arithmetic[id] && node.placement.engine == EngineId::kHostCpu &&
                           (!known.symbolic() || reads_unknown(node, kinds));
    if (is_needed || is_unknown(node, known)) {
      kinds[id] = ShapeKind::kUnknown;
    } else if (!reads_at_run_time(node) && node.after().empty()) {
      kinds[id] = ShapeKind::kInput;
    }
  }
  return kinds;
}

}  // namespace sluice
