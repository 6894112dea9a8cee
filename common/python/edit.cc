#include "common/python/edit.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <unordered_set>

#include "common/base/near_names.h"
#include "common/ops/op_table.h"
#include "common/ops/refine.h"

namespace sluice::python {
namespace {

// Types as they were, for an edit that fails.
class TypesBefore {
 public:
  void keep(Value& value) { before_.emplace_back(&value, value.type_id()); }
  void restore() const {
    for (auto at = before_.rbegin(); at != before_.rend(); ++at) at->first->set_type(at->second);
  }

 private:
  std::vector<std::pair<Value*, TypeId>> before_;
};

Result<bool> infer_kept(ModuleBox& box, Node& node, ValueFacts& facts, TypesBefore& before) {
  if (node.op() == Op::kForeign) return false;
  SLUICE_TRY(check_signature(node));
  if (!box.has_types) return false;
  for (size_t i = 0; i < node.output_count(); ++i) before.keep(node.output(i));
  return infer_node(node, facts);
}

// The node whose body ends, or begins, with the value; null where none does.
Node* owner_at(const Value& value) {
  return value.is_input() || value.is_output() ? value.graph().owner() : nullptr;
}

// Infers the nodes again, and what reads a type that became another one by it.
Result<void> infer_onward(ModuleBox& box, std::vector<Node*> nodes, TypesBefore& before) {
  std::deque<Node*> queue(nodes.begin(), nodes.end());
  std::map<const Graph*, ValueFacts> facts;
  while (!queue.empty()) {
    Node& node = *queue.front();
    queue.pop_front();
    ValueFacts& known = facts.try_emplace(&node.graph(), node.graph()).first->second;
    SLUICE_ASSIGN(const bool changed, infer_kept(box, node, known, before));
    for (size_t i = 0; changed && i < node.output_count(); ++i) {
      const Value& output = node.output(i);
      for (const Use& use : output.uses()) queue.push_back(use.node);
      if (Node* owner = owner_at(output); owner != nullptr) queue.push_back(owner);
    }
  }
  return {};
}

// Returns whether what the node computes depends on one of these.
bool depends_on(Node* node, const std::unordered_set<const Node*>& wanted) {
  if (node == nullptr || wanted.empty()) return false;
  const Graph& graph = node->graph();
  const auto* first = *std::ranges::min_element(
      wanted, [](const Node* a, const Node* b) { return a->is_before(*b); });
  const auto may_reach = [&](const Node& each) {
    return graph.order_is_broken() || !each.is_before(*first);
  };
  std::vector<const Node*> stack = {node};
  std::unordered_set<const Node*> seen(stack.begin(), stack.end());
  while (!stack.empty()) {
    const Node* at = stack.back();
    stack.pop_back();
    if (wanted.contains(at)) return true;
    const auto push = [&](const Node* before) {
      if (before != nullptr && may_reach(*before) && seen.insert(before).second)
        stack.push_back(before);
    };
    for (size_t i = 0; i < at->input_count(); ++i)
      if (at->input(i) != nullptr) push(at->input(i)->producer());
    for (const Node* before : at->after()) push(before);
  }
  return false;
}

void check_graph(const Value& value, const Graph& graph) {
  if (&value.graph() == &graph) return;
  fail(make_error(ErrorCode::kBadGraph, "value '{}' is of another graph", value.name())
           .with_hint("a body reads values of outer graphs as its inputs (captures)"));
}

// Makes the edit and infers what it touches, or takes it back.
template <typename Edit, typename Undo>
void edit_node(ModuleBox& box, Node& node, const Edit& edit, const Undo& undo) {
  TypesBefore before;
  edit();
  const size_t mark = box.module.expressions.mark();
  auto inferred = infer_onward(box, {&node}, before);
  box.forget_facts();
  ++box.edits;
  if (inferred) return;
  before.restore();
  box.module.expressions.forget_since(mark);
  undo();
  fail(std::move(inferred).error());
}

Node* behind_last(Graph& graph, const std::vector<Value*>& inputs) {
  Node* last = nullptr;
  for (const Value* input : inputs) {
    Node* producer = input == nullptr ? nullptr : input->producer();
    if (producer != nullptr && (last == nullptr || last->is_before(*producer))) last = producer;
  }
  return last == nullptr ? graph.first_node() : last->next();
}

// What runs after the node runs after what the node runs after.
void move_control_edges(const Node& node) {
  for (Node& each : node.graph().nodes()) {
    const std::vector<Node*> after = each.after();
    if (std::ranges::find(after, &node) == after.end()) continue;
    each.clear_after();
    for (Node* before : after)
      if (before != &node) each.add_after(*before);
    for (Node* before : node.after()) each.add_after(*before);
  }
}

std::string reader_of(const Value& value) {
  return value.uses().empty() ? "it is an output of its graph"
                              : fmt::format("{} reads it", value.uses()[0].node->label());
}

}  // namespace

Op op_of(const std::string& name) {
  if (name.find("::") != std::string::npos) return Op::kForeign;
  const auto op = op_from_name(name);
  if (op && *op != Op::kForeign && find_op(*op) != nullptr) return *op;
  std::vector<std::string_view> names;
  for (int i = 0; i < op_count(); ++i) names.push_back(op_name(static_cast<Op>(i)));
  fail(make_error(ErrorCode::kBadNode, "there is no op '{}'", name)
           .with_hint(near_names_hint(name, names, "docs/operators.md lists them")));
}

std::string op_text(const Node& node) {
  const AttributeValue* foreign = node.find_attribute(kForeignName);
  const bool is_foreign = node.op() == Op::kForeign && foreign != nullptr;
  return is_foreign ? std::get<std::string>(*foreign) : std::string(op_name(node.op()));
}

Node& add_node(ModuleBox& box, Graph& graph, const std::string& name,
               const std::vector<Value*>& inputs, size_t outputs, const NamedAttributes& attributes,
               Node* before, const std::string& node_name) {
  box.begin_edit();
  const Op op = op_of(name);
  if (op == Op::kForeign && box.has_types) {
    fail(make_error(ErrorCode::kBadNode,
                    "'{}' is an operator of another domain: they are there "
                    "before types are inferred alone",
                    name));
  }
  if (before != nullptr && &before->graph() != &graph)
    fail(make_error(ErrorCode::kBadGraph, "{} is of another graph", before->label()));
  for (const Value* input : inputs)
    if (input != nullptr) check_graph(*input, graph);
  const OpRow* row = find_op(op);
  if (outputs == 0) outputs = row == nullptr ? 1 : std::max<size_t>(1, row->min_outputs);
  Node* place = before == nullptr ? behind_last(graph, inputs) : before;
  Node& node = graph.add_node(op, inputs, outputs, place);
  node.set_name(node_name);
  for (const auto& [key, value] : attributes)
    if (key != kForeignName) node.set_attribute(key, value);
  if (op == Op::kForeign) node.set_attribute(kForeignName, name);
  TypesBefore types;
  const size_t mark = box.module.expressions.mark();
  auto inferred = infer_kept(box, node, box.facts(graph), types);
  ++box.edits;
  if (inferred) return node;
  graph.erase_node(node);
  box.module.expressions.forget_since(mark);
  fail(std::move(inferred).error());
}

void set_operand(ModuleBox& box, Node& node, size_t index, Value* value) {
  box.begin_edit();
  if (value != nullptr) check_graph(*value, node.graph());
  if (index > node.input_count()) {
    fail(make_error(ErrorCode::kBadNode, "{} has {} operands, so there is no operand {}",
                    node.label(), node.input_count(), index));
  }
  if (value != nullptr && depends_on(value->producer(), {&node}))
    fail(make_error(ErrorCode::kCycle, "'{}' depends on {}: a cycle", value->name(), node.label()));
  Value* old = node.input(index);
  const bool is_new = index == node.input_count();
  edit_node(
      box, node, [&] { is_new ? node.add_input(value) : node.set_input(index, value); },
      [&] { is_new ? node.remove_last_input() : node.set_input(index, old); });
}

void set_attribute(ModuleBox& box, Node& node, const std::string& name,
                   std::optional<AttributeValue> value) {
  box.begin_edit();
  if (name == kForeignName)
    fail(make_error(ErrorCode::kBadNode, "'{}' is the name of the operator", name));
  const AttributeValue* found = node.find_attribute(name);
  const std::optional<AttributeValue> old = found == nullptr ? std::nullopt : std::optional(*found);
  const auto set = [&](const std::optional<AttributeValue>& wanted) {
    wanted ? node.set_attribute(name, *wanted) : node.remove_attribute(name);
  };
  edit_node(box, node, [&] { set(value); }, [&] { set(old); });
}

void set_type(ModuleBox& box, Value& value, std::optional<TypeId> type) {
  box.begin_edit();
  if (value.is_constant())
    fail(make_error(ErrorCode::kBadValue, "'{}' is a constant, which has its type", value.name()));
  TypesBefore before;
  before.keep(value);
  value.set_type(type.value_or(0));
  std::vector<Node*> nodes;
  if (value.producer() != nullptr) nodes.push_back(value.producer());
  for (const Use& use : value.uses()) nodes.push_back(use.node);
  if (Node* owner = owner_at(value); owner != nullptr) nodes.push_back(owner);
  const size_t mark = box.module.expressions.mark();
  auto inferred = infer_onward(box, nodes, before);
  if (inferred && type && value.type_id() != *type) {
    inferred = make_error(ErrorCode::kBadShape, "'{}' is {}, which is more than {}", value.name(),
                          type_text(box.module, value.type()),
                          type_text(box.module, box.module.type(*type)));
  }
  if (inferred && box.has_types && value.type().kind == TypeKind::kUnknown) {
    inferred = make_error(ErrorCode::kBadShape,
                          "the type of '{}' cannot be inferred: no node "
                          "makes it",
                          value.name());
  }
  box.forget_facts();
  ++box.edits;
  if (inferred) return;
  before.restore();
  box.module.expressions.forget_since(mark);
  fail(std::move(inferred).error());
}

void replace_uses(ModuleBox& box, Value& from, Value& to, const std::vector<Node*>& keep) {
  box.begin_edit();
  check_graph(to, from.graph());
  if (&from == &to) return;
  if (from.type_id() != to.type_id()) {
    fail(make_error(ErrorCode::kBadShape, "'{}' is {}, and '{}', which would take its place, is {}",
                    from.name(), type_text(box.module, from.type()), to.name(),
                    type_text(box.module, to.type())));
  }
  std::unordered_set<const Node*> readers;
  for (const Use& use : from.uses())
    if (std::ranges::find(keep, use.node) == keep.end()) readers.insert(use.node);
  if (depends_on(to.producer(), readers)) {
    fail(make_error(ErrorCode::kCycle, "'{}' depends on a reader of '{}': a cycle", to.name(),
                    from.name())
             .with_hint("keep=[node] leaves out the nodes that go on reading the old value"));
  }
  ++box.edits;
  box.forget_facts();
  if (keep.empty() && box.editor(from.graph()).replace(from, to)) return;
  if (from.is_output() && keep.empty()) {
    fail(make_error(ErrorCode::kBadGraph,
                    "'{}' is an output of the model, whose name '{}' cannot take over", from.name(),
                    to.name())
             .with_hint("put an Identity in its place"));
  }
  const std::vector<Use> uses = from.uses();
  for (const Use& use : uses)
    if (readers.contains(use.node)) use.node->set_input(use.input, &to);
}

void erase_node(ModuleBox& box, Node& node) {
  box.begin_edit();
  for (size_t i = 0; i < node.output_count(); ++i) {
    const Value& output = node.output(i);
    if (output.is_used()) {
      fail(make_error(ErrorCode::kBadGraph, "{} cannot be erased: result '{}' is used, {}",
                      node.label(), output.name(), reader_of(output))
               .with_hint("let its readers read another value first: value.replace_with(other)"));
    }
  }
  Graph& graph = node.graph();
  if (graph.may_have_control_edges()) move_control_edges(node);
  graph.erase_node(node);
  ++box.edits;
}

void add_control_edge(ModuleBox& box, Node& node, Node& before) {
  box.begin_edit();
  if (&node.graph() != &before.graph())
    fail(make_error(ErrorCode::kBadGraph, "{} is of another graph", before.label()));
  if (depends_on(&before, {&node}))
    fail(make_error(ErrorCode::kCycle, "{} depends on {}: a cycle", before.label(), node.label()));
  node.add_after(before);
  ++box.edits;
}

void set_output(ModuleBox& box, Graph& graph, size_t index, Value& value) {
  box.begin_edit();
  check_graph(value, graph);
  if (index >= graph.outputs().size()) {
    fail(make_error(ErrorCode::kBadGraph, "graph '{}' has {} outputs, so there is no output {}",
                    graph.name(), graph.outputs().size(), index));
  }
  const Value& old = *graph.outputs()[index];
  if (old.type_id() != value.type_id()) {
    fail(make_error(ErrorCode::kBadShape, "output '{}' is {}, and '{}' is {}", old.name(),
                    type_text(box.module, old.type()), value.name(),
                    type_text(box.module, value.type())));
  }
  graph.set_output(index, value);
  ++box.edits;
}

size_t erase_unused(ModuleBox& box, Graph& graph) {
  box.begin_edit();
  box.restore_order();
  std::vector<Node*> nodes;
  for (Node& node : graph.nodes()) nodes.push_back(&node);
  const size_t before = graph.node_count();
  Editor& editor = box.editor(graph);
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
    if (!(*node)->is_erased() && is_removable(**node)) editor.erase_unused(**node);
  if (graph.node_count() != before) ++box.edits;
  return before - graph.node_count();
}

}  // namespace sluice::python
