// Replaces each Call by the nodes of its subgraph.
//
//   before:  %y = Call(%x, %w) {graph = @p0}
//            @p0(%a, parameter %b):  %c = constant expression @pack(%b)   %r = Fused(%a, %c)
//   after:   %c = constant expression @pack(%w)   %y = Fused(%x, %c)
//
// Calls of fixed and symbolic parts stay when the model is not one fixed part itself: they are
// lowered to task lists, each by itself, and called while the other nodes are walked. Their
// constants are bound all the same. Dynamic parts are linked: their nodes become nodes of the root,
// which is dynamic from then on.
//
// Legal because a subgraph names nothing outside itself: its inputs stand for the Call's operands,
// its parameters for the constants among them. Constant expressions over parameters become
// expressions over those constants; equal ones are one constant.
#include <map>

#include "common/base/work.h"
#include "common/ir/append_axis.h"
#include "common/ir/clone.h"
#include "common/ir/value_storage.h"
#include "common/ops/attributes.h"
#include "stages/build/passes/passes.h"
#include "stages/build/walk.h"

namespace sluice {
namespace {

// Binds the segments of one Call: parameters are replaced by the constants that the Call binds.
class Binder {
 public:
  explicit Binder(Module& module) : module_(module) {}

  void bind(SegmentId parameter, SegmentId constant) { bound_[parameter] = constant; }

  Result<SegmentId> resolve(SegmentId id) {
    if (const auto found = bound_.find(id); found != bound_.end()) return found->second;
    const Segment segment = module_.segment(id);
    if (segment.kind == SegmentKind::kParameter)
      return make_error(ErrorCode::kLinkFailed,
                        "a constant expression reads a parameter that no operand binds");
    if (segment.kind != SegmentKind::kExpression) return id;
    std::vector<SegmentId> inputs;
    for (const SegmentId input : segment.inputs) {
      SLUICE_ASSIGN(const SegmentId resolved, resolve(input));
      inputs.push_back(resolved);
    }
    if (inputs == segment.inputs) return bound_[id] = id;
    const Graph& copy = ModuleMapper(module_, module_).clone(module_.graph(segment.graph));
    return bound_[id] = module_.make_expression(segment.type, copy.id(), std::move(inputs));
  }

 private:
  Module& module_;
  std::map<SegmentId, SegmentId> bound_;
};

Error does_not_fit(const Node& call, const Graph& callee, const std::string& what) {
  return make_error(ErrorCode::kLinkFailed, "{}: subgraph '{}' {}", call.label(), callee.name(),
                    what);
}

// Returns whether both have the same storage: a kernel was made for the one that its operand has
// inside.
bool are_stored_alike(const Value& outside, const Value& inside) {
  return outside.storage_id() == inside.storage_id() ||
         (storage_map_of(outside) == storage_map_of(inside) && !append_axis(outside) &&
          !append_axis(inside) && !row_axis(outside) && !row_axis(inside));
}

Result<void> check_storages(const Node& call, const Graph& callee) {
  for (size_t i = 0; i < call.input_count() + call.output_count(); ++i) {
    const bool is_input = i < call.input_count();
    const Value* outside = is_input ? call.input(i) : &call.output(i - call.input_count());
    const Value& inside =
        is_input ? *callee.inputs()[i] : *callee.outputs()[i - call.input_count()];
    if (outside == nullptr || are_stored_alike(*outside, inside)) continue;
    return does_not_fit(call, callee,
                        fmt::format("stores '{}' otherwise than the Call", inside.name()));
  }
  return {};
}

Result<void> check_fits(const Node& call, const Graph& callee) {
  if (callee.inputs().size() == call.input_count() &&
      callee.outputs().size() == call.output_count())
    return check_storages(call, callee);
  return does_not_fit(
      call, callee,
      fmt::format("takes {} values and gives {}, the Call has {} and {}", callee.inputs().size(),
                  callee.outputs().size(), call.input_count(), call.output_count()));
}

Result<void> bind_parameters(const Node& call, const Graph& callee, Binder& binder) {
  for (size_t i = 0; i < call.input_count(); ++i) {
    const Value& placeholder = *callee.inputs()[i];
    if (!placeholder.is_constant()) continue;
    if (!call.input(i)->is_constant())
      return does_not_fit(call, callee, fmt::format("needs a constant as input {}", i));
    binder.bind(placeholder.segment(), call.input(i)->segment());
  }
  return {};
}

// Returns the last node of the subgraph, null when it is empty.
Result<Node*> link(Node& call, Graph& callee) {
  Graph& graph = call.graph();
  Module& module = graph.module();
  SLUICE_TRY(check_fits(call, callee));
  Binder binder(module);
  SLUICE_TRY(bind_parameters(call, callee, binder));
  std::vector<Value*> values(callee.value_limit(), nullptr);
  for (size_t i = 0; i < call.input_count(); ++i)
    values[static_cast<size_t>(callee.inputs()[i]->id())] = call.input(i);
  for (const Value& value : callee.values()) {
    if (value.is_erased() || value.is_input() || !value.is_constant() || !value.is_used()) continue;
    SLUICE_ASSIGN(const SegmentId segment, binder.resolve(value.segment()));
    Value& constant = graph.add_constant(segment, value.name());
    constant.set_type(value.type_id());
    constant.set_storage(value.storage_id());
    values[static_cast<size_t>(value.id())] = &constant;
  }
  ModuleMapper mapper(module, module);
  std::vector<Node*> placed(callee.node_limit(), nullptr);
  for (const Node& node : callee.nodes()) {
    Node& copy = mapper.clone_node(node, graph, values, &call);
    placed[static_cast<size_t>(node.id())] = &copy;
    if (copy.placement.stream_label.empty())
      copy.placement.stream_label = call.placement.stream_label;
    for (const Node* before : node.after())
      copy.add_after(*placed[static_cast<size_t>(before->id())]);
    for (Node* before : call.after()) copy.add_after(*before);
  }
  for (size_t k = 0; k < callee.outputs().size(); ++k) {
    Value& result = *values[static_cast<size_t>(callee.outputs()[k]->id())];
    if (result.producer() != nullptr && !call.output(k).name().empty())
      result.set_name(call.output(k).name());
    graph.replace_all_uses(call.output(k), result);
  }
  Node* last = nullptr;
  for (const Node& node : callee.nodes()) last = placed[static_cast<size_t>(node.id())];
  graph.erase_node(call);
  return last;
}

// Nodes that waited for a Call now wait for the last node of its subgraph.
void move_control_edges(Graph& graph, const std::map<const Node*, Node*>& last_of) {
  for (Node& node : graph.nodes()) {
    if (node.after().empty()) continue;
    const std::vector<Node*> after = node.after();
    node.clear_after();
    for (Node* before : after) {
      const auto found = last_of.find(before);
      Node* now = found == last_of.end() ? before : found->second;
      if (now != nullptr) node.add_after(*now);
    }
  }
}

bool is_task_list(const Graph& graph) {
  return graph.role == GraphRole::kPart && graph.shapes != ShapeClass::kDynamic;
}

Result<void> link_all(Graph& graph, bool keeps_parts) {
  add_work(Work::kNodeVisits, graph.node_count());
  std::map<const Node*, Node*> last_of;  // looked up only
  for (Node& node : graph.nodes()) {
    if (node.op() != Op::kCall) continue;
    Graph* callee = node.get(attributes::Call::graph);
    if (callee == nullptr) {
      return make_error(ErrorCode::kLinkFailed, "{}: its subgraph is not here", node.label())
          .with_hint("give the lowered files of all subgraphs behind root.sg");
    }
    add_work(Work::kSubgraphs);
    SLUICE_TRY(link_all(*callee, keeps_parts));
    if (keeps_parts && is_task_list(*callee)) continue;
    SLUICE_ASSIGN(last_of[&node], link(node, *callee));
  }
  move_control_edges(graph, last_of);
  return {};
}

// Binds the constants of a part that stays to those outside.
Result<void> bind_constants(Node& call, Graph& part) {
  SLUICE_TRY(check_fits(call, part));
  Binder binder(part.module());
  SLUICE_TRY(bind_parameters(call, part, binder));
  for (Value& value : part.values()) {
    if (value.is_erased() || !value.is_constant() || !value.is_used()) continue;
    SLUICE_ASSIGN(const SegmentId segment, binder.resolve(value.segment()));
    value.set_segment(segment);
  }
  return {};
}

}  // namespace

Result<bool> link_subgraphs(Graph& graph, const Options&) {
  bool any = false;
  for (const Node& node : graph.nodes()) any = any || node.op() == Op::kCall;
  const ShapeClass before = graph.shapes;
  if (is_walked(graph)) graph.shapes = ShapeClass::kDynamic;
  SLUICE_TRY(link_all(graph, graph.shapes == ShapeClass::kDynamic));
  for (Node& node : graph.nodes()) {
    if (node.op() == Op::kCall)
      SLUICE_TRY(bind_constants(node, *node.get(attributes::Call::graph)));
  }
  return any || graph.shapes != before;
}

}  // namespace sluice
