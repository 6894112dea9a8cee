#include "common/python/module_box.h"

#include <algorithm>
#include <unordered_set>

namespace sluice::python {
namespace {

template <typename T>
T& target_of(const Handle<T>& handle, const char* what) {
  if (handle.cell != nullptr && handle.cell->target != nullptr) return *handle.cell->target;
  throw ErasedHandle{fmt::format("this {} is erased: find it again in its graph", what)};
}

}  // namespace

void fail(Error error) { throw Failure{std::move(error)}; }

bool is_erased(const NodeHandle& handle) {
  return handle.cell->target == nullptr || handle.cell->target->is_erased();
}

bool is_erased(const ValueHandle& handle) {
  return handle.cell->target == nullptr || handle.cell->target->is_erased();
}

Node& node_of(const NodeHandle& handle) {
  if (is_erased(handle)) return target_of(NodeHandle{}, "node");
  return *handle.cell->target;
}

Value& value_of(const ValueHandle& handle) {
  if (is_erased(handle)) return target_of(ValueHandle{}, "value");
  return *handle.cell->target;
}

Graph& graph_of(const GraphHandle& handle) { return target_of(handle, "graph"); }

void ModuleBox::begin_edit() const {
  if (!is_searched) return;
  fail(make_error(ErrorCode::kBadGraph,
                  "the graph is searched for a pattern and cannot be changed "
                  "before the answer is given")
           .with_hint("return the replacement as an expression, or edit in Pass.run"));
}

void ModuleBox::restore_order() {
  for (GraphId id = 0; id < module.graph_limit(); ++id)
    if (module.has_graph(id)) check(module.graph(id).restore_order());
}

ValueFacts& ModuleBox::facts(Graph& graph) {
  return facts_.try_emplace(&graph, graph).first->second;
}

// An editor knows the symbols of when it first needed them.
Editor& ModuleBox::editor(Graph& graph) {
  const size_t symbols = module.expressions.symbol_count();
  if (symbols != editor_symbols_ || graph.may_have_control_edges()) editors_.clear();
  editor_symbols_ = symbols;
  std::unique_ptr<Editor>& editor = editors_[&graph];
  if (editor == nullptr) editor = std::make_unique<Editor>(graph);
  return *editor;
}

// What is where before a module is compacted, and after it: nodes in list order, and values in the
// order inputs, constants, results.
struct ModuleBox::Moves {
  explicit Moves(const Graph& graph) {
    for (Node& node : graph.nodes()) nodes.push_back(&node);
    for (Value* input : graph.inputs()) values.push_back(input);
    for (const Value& value : graph.values()) {
      const bool stays =
          !value.is_erased() && value.producer() == nullptr && value.is_used() && !value.is_input();
      if (stays) values.push_back(const_cast<Value*>(&value));
    }
    for (Node* node : nodes)
      for (size_t i = 0; i < node->output_count(); ++i) values.push_back(&node->output(i));
  }

  template <typename T>
  static void move(Cells<T>& cells, Graph& graph, const std::vector<T*>& before,
                   const std::vector<T*>& after, std::unordered_map<const T*, Cell<T>*>& moved) {
    for (size_t i = 0; i < before.size(); ++i) {
      const auto found = cells.of.find(before[i]);
      if (found == cells.of.end()) continue;
      found->second->target = after[i];
      found->second->graph = &graph;
      moved.emplace(after[i], found->second);
    }
  }

  std::vector<Node*> nodes;
  std::vector<Value*> values;
};

void ModuleBox::forget_erased_graphs() {
  std::unordered_set<const Graph*> live;
  for (GraphId id = 0; id < module.graph_limit(); ++id)
    if (module.has_graph(id)) live.insert(&module.graph(id));
  for (auto at = graphs_.of.begin(); at != graphs_.of.end();) {
    if (live.contains(at->first)) {
      ++at;
      continue;
    }
    at->second->target = nullptr;
    at = graphs_.of.erase(at);
  }
}

Module ModuleBox::release() {
  for (Cell<Node>& cell : nodes_.all) cell.target = nullptr;
  for (Cell<Value>& cell : values_.all) cell.target = nullptr;
  for (Cell<Graph>& cell : graphs_.all) cell.target = nullptr;
  facts_.clear();
  editors_.clear();
  Module empty;
  empty.add_graph("released");
  return std::exchange(module, std::move(empty));
}

void ModuleBox::compact() {
  begin_edit();
  restore_order();
  module.erase_unowned();
  std::vector<std::pair<Graph*, Moves>> before;
  for (GraphId id = 0; id < module.graph_limit(); ++id)
    if (module.has_graph(id)) before.emplace_back(&module.graph(id), Moves(module.graph(id)));
  module.compact();
  facts_.clear();
  editors_.clear();
  for (Cell<Node>& cell : nodes_.all) cell.target = nullptr;
  for (Cell<Value>& cell : values_.all) cell.target = nullptr;
  std::unordered_map<const Node*, Cell<Node>*> nodes;
  std::unordered_map<const Value*, Cell<Value>*> values;
  for (auto& [graph, moves] : before) {
    const Moves after(*graph);
    Moves::move(nodes_, *graph, moves.nodes, after.nodes, nodes);
    Moves::move(values_, *graph, moves.values, after.values, values);
  }
  nodes_.of.swap(nodes);
  values_.of.swap(values);
  forget_erased_graphs();
}

}  // namespace sluice::python
