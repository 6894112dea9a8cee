#include "common/pass/editor.h"

#include "common/base/work.h"

namespace sluice {

bool is_model_output(const Value& value) {
  const GraphRole role = value.graph().role;
  return value.is_output() && (role == GraphRole::kRoot || role == GraphRole::kPart);
}

bool is_removable(const Node& node) { return !node.placement.keep && node.output_count() > 0; }

bool Editor::replace(Value& from, Value& to) {
  if (&from == &to || from.type_id() != to.type_id()) return false;
  if (is_model_output(from)) {
    if (to.producer() == nullptr || to.is_output()) return false;
    to.set_name(from.name());
  }
  move_symbols(from, to);
  graph_.replace_all_uses(from, to);
  return true;
}

void Editor::move_symbols(const Value& from, const Value& to) {
  ExpressionTable& expressions = graph_.module().expressions;
  if (!symbols_of_) {
    symbols_of_.emplace();
    for (SymbolId id = 0; static_cast<size_t>(id) < expressions.symbol_count(); ++id) {
      const Symbol& symbol = expressions.symbol(id);
      if (symbol.graph == graph_.id()) (*symbols_of_)[symbol.value].push_back(id);
    }
  }
  auto moved = symbols_of_->extract(from.id());
  if (moved.empty()) return;
  for (const SymbolId id : moved.mapped()) expressions.symbol(id).value = to.id();
  std::vector<SymbolId>& kept = (*symbols_of_)[to.id()];
  kept.insert(kept.end(), moved.mapped().begin(), moved.mapped().end());
}

void Editor::erase(Node& node) {
  control_.transfer({&node}, {});
  graph_.erase_node(node);
}

bool Editor::erase_unused(Node& first) {
  std::vector<Node*> queue = {&first};
  bool erased = false;
  while (!queue.empty()) {
    Node* node = queue.back();
    queue.pop_back();
    if (node->is_erased() || !is_removable(*node)) continue;
    bool is_used = false;
    for (size_t i = 0; i < node->output_count(); ++i)
      is_used = is_used || node->output(i).is_used();
    if (is_used) continue;
    for (size_t i = 0; i < node->input_count(); ++i) {
      if (node->input(i) != nullptr && node->input(i)->producer() != nullptr)
        queue.push_back(node->input(i)->producer());
    }
    erase(*node);
    erased = true;
  }
  return erased;
}

Result<bool> on_every_graph(Graph& root, const std::function<Result<bool>(Graph&)>& rewrite) {
  std::vector<Graph*> queue = {&root};
  bool changed = false;
  for (size_t next = 0; next < queue.size(); ++next) {
    Graph& graph = *queue[next];
    add_work(Work::kNodeVisits, graph.node_count());
    SLUICE_ASSIGN(const bool here, rewrite(graph));
    changed = changed || here;
    if (!graph.may_have_bodies()) continue;
    for (const Node& node : graph.nodes()) {
      if (node.op() == Op::kFused) continue;
      for (const GraphId body : node.bodies()) queue.push_back(&graph.module().graph(body));
    }
  }
  return changed;
}

Result<bool> on_every_node(Graph& root, const std::function<bool(Editor&, Node&)>& rewrite) {
  return on_every_graph(root, [&](Graph& graph) -> Result<bool> {
    Editor editor(graph);
    bool changed = false;
    for (Node& node : graph.nodes()) {
      if (!rewrite(editor, node)) continue;
      add_work(Work::kMatches);
      add_work(Work::kReplacements);
      changed = true;
    }
    return changed;
  });
}

}  // namespace sluice
