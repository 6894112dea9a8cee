// Level partitioned: every node has an engine; the root calls parts, a part calls subgraphs;
// boundaries match (checked as for every body).
#include "common/base/work.h"
#include "common/ir/fixed.h"
#include "common/ir/states.h"
#include "common/ir/value_storage.h"
#include "common/symbolic/any_symbol.h"
#include "common/verify/findings.h"

namespace sluice::verifying {
namespace {

// Returns true for the root and parts, which contain Calls, and work that needs no subgraph.
bool is_caller(const Graph& graph) {
  return graph.role == GraphRole::kPart ||
         (graph.role == GraphRole::kRoot && graph.engine == EngineId::kNone);
}

bool is_called(const Graph& graph) {
  return graph.role == GraphRole::kPart || graph.role == GraphRole::kSubgraph ||
         (graph.role == GraphRole::kRoot && graph.engine != EngineId::kNone);
}

// Formats are for engines that generate kernels; storages of states are dense.
void check_formats(const Node& node, Findings& findings) {
  if (node.placement.engine != EngineId::kHostCpu && node.placement.engine != EngineId::kRts)
    return;
  const auto check = [&](const Value& value) {
    if (is_stored_dense(value)) return;
    findings.add("{}: runs on {}, which takes only dense values; '{}' is not", node.label(),
                 engine_name(node.placement.engine), value.name());
  };
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.input(i) != nullptr) check(*node.input(i));
  for (size_t i = 0; i < node.output_count(); ++i) check(node.output(i));
}

// A kernel was made for the storage that its operand has inside.
void check_storages(const Node& call, const Graph& called, Findings& findings) {
  if (called.inputs().size() != call.input_count() ||
      called.outputs().size() != call.output_count())
    return;  // reported already
  const auto check = [&](const Value& outside, const Value& inside) {
    if (outside.is_constant() || storage_map_of(outside) == storage_map_of(inside)) return;
    findings.add("{}: '{}' is {}, in {} it is {}", call.label(), outside.name(),
                 storage_map_name(storage_map_of(outside)), graph_label(called),
                 storage_map_name(storage_map_of(inside)));
  };
  for (size_t i = 0; i < call.input_count(); ++i)
    if (call.input(i) != nullptr) check(*call.input(i), *called.inputs()[i]);
  for (size_t i = 0; i < call.output_count(); ++i) check(call.output(i), *called.outputs()[i]);
}

void check_caller(const Graph& graph, Findings& findings) {
  size_t parts = 0, subgraphs = 0;
  add_work(Work::kNodeVisits, graph.node_count());
  for (const Node& node : graph.nodes()) {
    const EngineId engine = node.placement.engine;
    if (node.op() == Op::kCall) {
      const Graph* called = called_graph(node);
      if (called != nullptr) check_storages(node, *called, findings);
      if (called != nullptr && called->role == GraphRole::kPart) ++parts;
      if (called != nullptr && called->role == GraphRole::kSubgraph) ++subgraphs;
    } else if (engine == EngineId::kNone) {
      findings.add("{}: has no engine", node.label());
    } else if (engine != EngineId::kRts && engine != EngineId::kHostCpu &&
               node.placement.kernel < 0 && !node.placement.no_task) {
      // a node with a kernel, or without a task, is linked again
      findings.add("{}: runs on {} but lies in no subgraph", node.label(), engine_name(engine));
    }
  }
  if (graph.role == GraphRole::kPart && parts > 0)
    findings.add("{}: a part calls subgraphs, not parts", graph_label(graph));
  if (parts > 0 && subgraphs > 0) findings.add("{}: calls parts and subgraphs", graph_label(graph));
  if (graph.role == GraphRole::kRoot && parts == 1 && graph.node_count() == 1 &&
      !has_states(graph) && called_graph(*graph.nodes().begin())->shapes != ShapeClass::kSymbolic) {
    findings.add("{}: calls one part only; it should be that part", graph_label(graph));
  }
}

void check_subgraph(const Graph& graph, Findings& findings) {
  if (graph.engine == EngineId::kNone) findings.add("{}: has no engine", graph_label(graph));
  add_work(Work::kNodeVisits, graph.node_count());
  for (const Node& node : graph.nodes()) {
    if (node.op() == Op::kCall) findings.add("{}: a subgraph calls no other graph", node.label());
    check_formats(node, findings);
    const EngineId engine = node.placement.engine;
    const bool fits =
        engine == graph.engine || is_composite(graph.engine) || node.placement.no_task;
    if (engine == EngineId::kNone) {
      findings.add("{}: has no engine", node.label());
    } else if (!fits) {
      findings.add("{}: runs on {}, its {} on {}", node.label(), engine_name(engine),
                   graph_label(graph), engine_name(graph.engine));
    }
  }
}

bool is_large(const Segment& segment) {
  return (segment.kind == SegmentKind::kBytes || segment.kind == SegmentKind::kSplat) &&
         segment.size > kSmallSegmentBytes;
}

// Large constants are operands of the Call, so that equal layers with other weights are one
// subgraph. Linking passes them to parts.
void check_constants(const Graph& graph, Findings& findings) {
  const Module& module = graph.module();
  for (const Value& value : graph.values()) {
    if (value.is_erased() || !value.is_constant() || !value.is_used()) continue;
    const Segment& segment = module.segment(value.segment());
    if (is_large(segment))
      findings.add("{} is a constant of {} bytes; it should be a parameter", value_label(value),
                   segment.size);
    for (const SegmentId input : segment.inputs) {
      if (is_large(module.segment(input)))
        findings.add("{} is made from a constant that should be a parameter", value_label(value));
    }
  }
}

// Memory is planned by class: every size of a fixed or symbolic graph is known, or can be computed.
// A part of either class is lowered to a task list, with memory for plain elements.
bool fits_class(const Type& type, const Graph& graph) {
  if (graph.role != GraphRole::kPart) return type.is_tensor() && !type.has_unknown();
  return graph.shapes == ShapeClass::kFixed ? type.is_fixed() && type.dtype != DType::kString
                                            : has_known_size(graph.module(), type);
}

// Returns whether the symbol is the dim of an input that it says it is: otherwise no run sets its
// value. What lies in another file is not looked at.
bool is_set(const Module& module, SymbolId id) {
  const Symbol& symbol = module.expressions.symbol(id);
  if (symbol.origin != SymbolOrigin::kInputDim || symbol.value < 0 ||
      !module.has_graph(symbol.graph))
    return true;
  const Graph& graph = module.graph(symbol.graph);
  const auto value = static_cast<size_t>(symbol.value), axis = static_cast<size_t>(symbol.axis);
  if (value >= graph.value_limit()) return false;
  const Type& type = graph.values()[value].type();
  if (axis >= type.dims.size() || !type.dims[axis].is_expression()) return false;
  const Expression& dim = module.expressions[static_cast<ExpressionId>(type.dims[axis].value)];
  return dim.op == ExpressionOp::kSymbol && dim.value == id;
}

// Returns a symbol of the type's sizes whose value nothing sets.
std::optional<SymbolId> unset_symbol(const Module& module, const Type& type) {
  std::optional<SymbolId> unset;
  const auto is_unset = [&](SymbolId id) {
    if (!is_set(module, id)) unset = id;
    return unset.has_value();
  };
  for (const Dim& dim : type.dims) {
    if (dim.is_expression() &&
        any_symbol(module.expressions, static_cast<ExpressionId>(dim.value), is_unset))
      break;
  }
  return unset;
}

void check_shape_class(const Graph& graph, Findings& findings) {
  if (graph.shapes == ShapeClass::kDynamic) return;
  for (const Value& value : graph.values()) {
    if (value.is_erased() || !value.is_used()) continue;
    if (!fits_class(value.type(), graph)) {
      findings.add("{}: has no known size, though {} is {}", value_label(value), graph_label(graph),
                   shape_class_name(graph.shapes));
    } else if (const auto unset = unset_symbol(graph.module(), value.type())) {
      const Symbol& symbol = graph.module().expressions.symbol(*unset);
      findings.add(
          "{}: its size has the symbol '{}', which is not dim {} of the input that it names",
          value_label(value), symbol.name, symbol.axis);
    }
  }
}

}  // namespace

void check_partitioned(const Module& module, Findings& findings) {
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    const Graph& graph = module.graph(id);
    if (is_caller(graph)) check_caller(graph, findings);
    if (graph.role == GraphRole::kSubgraph ||
        (graph.role == GraphRole::kRoot && graph.engine != EngineId::kNone)) {
      check_subgraph(graph, findings);
    }
    const bool may_be_linked = graph.role == GraphRole::kPart && module.level >= Level::kLowered;
    if (is_called(graph) && !may_be_linked) check_constants(graph, findings);
    if (is_caller(graph) || is_called(graph)) check_shape_class(graph, findings);
  }
}

}  // namespace sluice::verifying
