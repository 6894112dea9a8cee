// Level typed: only ops of the table in canonical form; every value has a type; the graphs are well
// formed.
#include "common/base/work.h"
#include "common/ops/attributes.h"
#include "common/ops/op_table.h"
#include "common/text/text.h"
#include "common/verify/findings.h"

namespace sluice::verifying {
namespace {

// Returns true for the ops whose cost dominates a Fused body.
bool is_anchor(Op op) {
  switch (op) {
    case Op::kConv:
    case Op::kConvInteger:
    case Op::kConvTranspose:
    case Op::kQLinearConv:
    case Op::kMatMul:
    case Op::kMatMulInteger:
    case Op::kQLinearMatMul:
    case Op::kGemm:
    case Op::kAttention:
    case Op::kFlexAttention:
    case Op::kLSTM:
    case Op::kGRU:
    case Op::kRNN:
      return true;
    default:
      return false;
  }
}

bool may_have_body(Op op, GraphRole role) {
  if (role == GraphRole::kFused) return op == Op::kFused;
  if (role == GraphRole::kPart || role == GraphRole::kSubgraph) return op == Op::kCall;
  return role == GraphRole::kBody && op != Op::kFused && op != Op::kCall;
}

// The stored axes of a tensor take each of its elements once.
void check_storage(const Value& value, Findings& findings) {
  const Storage* storage = value.storage();
  if (storage == nullptr) return;
  const Type& type = value.type();
  const std::string fault = !type.is_tensor() || !type.ranked
                                ? "only tensors of known rank have one"
                            : storage->map.size() != storage->dims.size()
                                ? fmt::format("it has {} stored axes and {} extents",
                                              storage->map.size(), storage->dims.size())
                                : storage_fault(storage->map, type.dims.size());
  if (!fault.empty()) findings.add("{}: its storage: {}", value_label(value), fault);
}

void check_value(const Value& value, Findings& findings) {
  const Module& module = value.graph().module();
  const Type& type = value.type();
  // Within preprocess, a separate pass adds the types.
  const bool is_importing = module.last_stage == StageId::kNone && module.is_mid_stage();
  if (type.kind == TypeKind::kUnknown && !is_importing)
    findings.add("{} has no type", value_label(value));
  if (type.is_tensor() && type.dtype == DType::kUndefined)
    findings.add("{} has no element type", value_label(value));
  check_storage(value, findings);
  if (!value.is_constant()) return;
  const Segment& segment = module.segment(value.segment());
  if (value.producer() != nullptr)
    findings.add("{} is both a constant and the result of a node", value_label(value));
  if (!types_fit(module, value.type_id(), segment.type)) {
    findings.add("{} has type {}, its constant has {}", value_label(value),
                 print_type(module, value.type_id()), print_type(module, segment.type));
  }
  if (segment.kind == SegmentKind::kParameter && !value.is_input()) {
    findings.add("{} is a parameter but no input of its graph", value_label(value));
  }
}

void check_operands(const Node& node, Findings& findings) {
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* input = node.input(i);
    if (input == nullptr) continue;
    if (input->is_erased()) {
      findings.add("{}: input {} was erased", node.label(), i);
    } else if (&input->graph() != &node.graph()) {
      findings.add("{}: input {} is {}, which is another graph", node.label(), i,
                   value_label(*input));
    } else if (input->producer() != nullptr && !input->producer()->is_before(node)) {
      findings.add("{}: input {} is made by {}, which comes later", node.label(), i,
                   input->producer()->label());
    }
  }
  for (const Node* before : node.after()) {
    if (!before->is_erased() && (&before->graph() != &node.graph() || !before->is_before(node))) {
      findings.add("{}: runs after {}, which comes later", node.label(), before->label());
    }
  }
}

// Checks a body whose inputs correspond to the node's, one by one.
void check_boundary(const Node& node, const Graph& body, Findings& findings) {
  const Module& module = body.module();
  if (node.input_count() != body.inputs().size() || node.output_count() != body.outputs().size()) {
    findings.add("{}: has {} inputs and {} outputs, {} has {} and {}", node.label(),
                 node.input_count(), node.output_count(), graph_label(body), body.inputs().size(),
                 body.outputs().size());
    return;
  }
  const auto check = [&](const char* what, size_t i, const Value& outer, const Value& inner) {
    if (types_fit(module, outer.type_id(), inner.type_id())) return;
    findings.add("{}: {} {} has type {}, in {} it has {}", node.label(), what, i,
                 print_type(module, outer.type_id()), graph_label(body),
                 print_type(module, inner.type_id()));
  };
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr) check("input", i, *node.input(i), *body.inputs()[i]);
  }
  for (size_t i = 0; i < node.output_count(); ++i)
    check("output", i, node.output(i), *body.outputs()[i]);
}

void check_captures(const Node& node, const Graph& body, Findings& findings) {
  const size_t captures = body.captures;
  if (captures > node.input_count()) {
    findings.add("{}: {} captures {} values, the node has {} inputs", node.label(),
                 graph_label(body), captures, node.input_count());
    return;
  }
  for (size_t i = 0; i < captures; ++i) {
    const Value* outer = node.input(node.input_count() - captures + i);
    const Value& inner = *body.inputs()[body.inputs().size() - captures + i];
    if (outer != nullptr && types_fit(body.module(), outer->type_id(), inner.type_id())) continue;
    findings.add("{}: capture {} of {} does not fit its value", node.label(), i, graph_label(body));
  }
  const size_t own = body.inputs().size() - captures;
  if (node.op() == Op::kIf && own != 0)
    findings.add("{}: {} has {} inputs that are no captures", node.label(), graph_label(body), own);
  if (node.op() == Op::kIf && body.outputs().size() != node.output_count()) {
    findings.add("{}: has {} outputs, {} has {}", node.label(), node.output_count(),
                 graph_label(body), body.outputs().size());
  }
  if (node.op() != Op::kLoop) return;
  if (body.inputs().size() != node.input_count() ||
      body.outputs().size() != node.output_count() + 1) {
    findings.add("{}: has {} inputs and {} outputs, which {} with {} and {} cannot be looped over",
                 node.label(), node.input_count(), node.output_count(), graph_label(body),
                 body.inputs().size(), body.outputs().size());
  }
}

void check_bodies(const Node& node, Findings& findings) {
  const Module& module = node.graph().module();
  for (const GraphId id : node.bodies()) {
    if (!module.has_graph(id)) {
      findings.add("{}: graph {} does not exist", node.label(), id);
      continue;
    }
    const Graph& body = module.graph(id);
    if (body.owner() != &node)
      findings.add("{}: {} belongs to another node", node.label(), graph_label(body));
    if (!may_have_body(node.op(), body.role))
      findings.add("{}: {} is no body for this op", node.label(), graph_label(body));
    if (body.captures > body.inputs().size()) {
      findings.add("{} captures {} of {} inputs", graph_label(body), body.captures,
                   body.inputs().size());
    } else if (body.role == GraphRole::kBody) {
      check_captures(node, body, findings);
    } else {
      check_boundary(node, body, findings);
    }
  }
}

// Generated code and the loader show a view's operand as its result, so both must have the same
// bytes.
void check_view(const Node& node, Findings& findings) {
  const OpRow* row = find_op(node.op());
  if (row == nullptr || (row->flags & kView) == 0 || node.input_count() == 0 ||
      node.output_count() == 0 || node.input(0) == nullptr)
    return;
  const Type& from = node.input(0)->type();
  const Type& to = node.output(0).type();
  if (!from.is_tensor() || !to.is_tensor()) return;
  const bool same_count = !from.is_fixed() || !to.is_fixed() ||
                          (from.element_count() && from.element_count() == to.element_count());
  if (same_count && from.dtype == to.dtype) return;
  const Module& module = node.graph().module();
  findings.add("{}: its result is {}, which does not have the elements of its input, {}",
               node.label(), print_type(module, node.output(0).type_id()),
               print_type(module, node.input(0)->type_id()));
}

void check_node(const Node& node, Findings& findings) {
  // An op of the domain "sluice" may come from a later release than the table; ONNX's ops must be
  // in the table.
  if (find_op(node.op()) != nullptr || op_domain(node.op()) == Domain::kOnnx) {
    const auto signature = check_signature(node);
    if (!signature) findings.add_error(signature.error());
  }
  const bool calls_elsewhere =
      node.has(attributes::Call::subgraph) || node.has(attributes::Call::part);
  if (node.op() == Op::kCall && node.get(attributes::Call::graph) == nullptr && !calls_elsewhere) {
    findings.add("{}: calls nothing", node.label());
  }
  if (node.op() == Op::kFused && node.get(attributes::Fused::body) == nullptr)
    findings.add("{}: has no body", node.label());
  check_view(node, findings);
  check_operands(node, findings);
  check_bodies(node, findings);
}

void check_graph(const Graph& graph, Findings& findings) {
  if (graph.order_is_broken())
    findings.add("{}: its nodes are in no topological order", graph_label(graph));
  for (const Value& value : graph.values()) {
    const bool is_left_over = value.is_constant() && !value.is_input() && !value.is_used();
    if (!value.is_erased() && !is_left_over) check_value(value, findings);
  }
  for (const Value* output : graph.outputs()) {
    if (output->is_erased() || &output->graph() != &graph)
      findings.add("{}: output '{}' is no value of it", graph_label(graph), output->name());
  }
  size_t anchors = 0;
  add_work(Work::kNodeVisits, graph.node_count());
  for (const Node& node : graph.nodes()) {
    check_node(node, findings);
    anchors += is_anchor(node.op()) ? 1 : 0;
  }
  if (graph.role == GraphRole::kFused && anchors > 1)
    findings.add("{}: a fused body has at most one anchor, this has {}", graph_label(graph),
                 anchors);
  const bool needs_owner =
      graph.id() != 0 && graph.role != GraphRole::kRoot && graph.role != GraphRole::kExpression;
  if (needs_owner && graph.owner() == nullptr)
    findings.add("{} belongs to no node", graph_label(graph));
  if (!needs_owner && graph.owner() != nullptr)
    findings.add("{} is the body of {}", graph_label(graph), graph.owner()->label());
}

void check_expressions(const Module& module, Findings& findings) {
  for (SegmentId id = 0; static_cast<size_t>(id) < module.segment_count(); ++id) {
    const Segment& segment = module.segment(id);
    if (segment.kind != SegmentKind::kExpression || !module.has_graph(segment.graph)) continue;
    const Graph& graph = module.graph(segment.graph);
    if (graph.role != GraphRole::kExpression)
      findings.add("{} makes a constant but is no expression", graph_label(graph));
    if (graph.inputs().size() != segment.inputs.size() || graph.outputs().empty()) {
      findings.add("{} takes {} constants, a constant gives it {}", graph_label(graph),
                   graph.inputs().size(), segment.inputs.size());
    } else if (!types_fit(module, graph.outputs()[0]->type_id(), segment.type)) {
      findings.add("{} makes {}, its constant has type {}", graph_label(graph),
                   print_type(module, graph.outputs()[0]->type_id()),
                   print_type(module, segment.type));
    }
  }
}

}  // namespace

void check_typed(const Module& module, Findings& findings) {
  // A subgraph has its own file only from partition on.
  const bool is_split_off = module.has_graph(0) && module.graph(0).role == GraphRole::kSubgraph;
  if (is_split_off && module.level == Level::kTyped)
    findings.add("{}: a subgraph is no typed graph", graph_label(module.graph(0)));
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (module.has_graph(id)) check_graph(module.graph(id), findings);
  }
  check_expressions(module, findings);
}

}  // namespace sluice::verifying
