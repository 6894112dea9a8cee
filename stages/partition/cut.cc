#include "stages/partition/cut.h"

#include <algorithm>
#include <queue>
#include <set>

#include "common/base/work.h"
#include "common/ir/clone.h"
#include "common/ir/predecessors.h"
#include "common/ops/attributes.h"
#include "common/symbolic/any_symbol.h"

namespace sluice {
namespace {

// One node of the resulting graph: a node that stays, or a cluster.
struct Unit {
  std::vector<Node*> nodes;
  int32_t cluster = -1;
};

// Returns a topological order of the units, the earliest first node first.
Result<std::vector<Unit>> order_units(Graph& graph, const std::vector<int32_t>& clusters) {
  add_work(Work::kNodeVisits, 2 * graph.node_count());
  std::vector<Unit> units;
  std::vector<int32_t> unit_of(graph.node_limit(), -1);
  std::vector<int32_t> unit_of_cluster(graph.node_limit(), -1);
  for (Node& node : graph.nodes()) {
    const int32_t cluster = clusters[static_cast<size_t>(node.id())];
    int32_t unit = cluster < 0 ? -1 : unit_of_cluster[static_cast<size_t>(cluster)];
    if (unit < 0) {
      unit = static_cast<int32_t>(units.size());
      units.push_back({{}, cluster});
      if (cluster >= 0) unit_of_cluster[static_cast<size_t>(cluster)] = unit;
    }
    units[static_cast<size_t>(unit)].nodes.push_back(&node);
    unit_of[static_cast<size_t>(node.id())] = unit;
  }
  std::vector<std::vector<int32_t>> successors(units.size());
  std::vector<int32_t> waiting(units.size(), 0);
  for (Node& node : graph.nodes()) {
    const int32_t mine = unit_of[static_cast<size_t>(node.id())];
    for_each_predecessor(node, [&](const Node& before) {
      const int32_t theirs = unit_of[static_cast<size_t>(before.id())];
      if (theirs == mine) return;
      successors[static_cast<size_t>(theirs)].push_back(mine);
      ++waiting[static_cast<size_t>(mine)];
    });
  }
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (size_t i = 0; i < units.size(); ++i) {
    if (waiting[i] == 0) ready.push(static_cast<int32_t>(i));
  }
  std::vector<Unit> ordered;
  while (!ready.empty()) {
    const auto unit = static_cast<size_t>(ready.top());
    ready.pop();
    for (const int32_t next : successors[unit]) {
      if (--waiting[static_cast<size_t>(next)] == 0) ready.push(next);
    }
    ordered.push_back(std::move(units[unit]));
  }
  if (ordered.size() != units.size())
    return make_error(ErrorCode::kCycle, "graph '{}': a cluster is not convex", graph.name());
  return ordered;
}

class Cutter {
 public:
  Cutter(Graph& graph, bool symbolic)
      : graph_(graph),
        module_(graph.module()),
        mapper_(module_, module_),
        symbolic_(symbolic),
        inside_(graph.value_limit()),
        calls_(graph.node_limit()) {}

  void cut(const Unit& unit, const CutCluster& description) {
    add_work(Work::kClusters);
    add_work(Work::kNodesCut, unit.nodes.size());
    Graph& callee = module_.add_graph(description.name, description.role);
    callee.engine = description.engine;
    std::vector<Value*> operands = place_operands(unit, callee);
    std::vector<Value*> results;
    std::vector<Node*> copies(unit.nodes.size());
    for (size_t i = 0; i < unit.nodes.size(); ++i) {
      copies[i] = &mapper_.clone_node(*unit.nodes[i], callee, inside_);
      calls_[static_cast<size_t>(unit.nodes[i]->id())] = copies[i];
      for (size_t k = 0; k < unit.nodes[i]->output_count(); ++k) {
        Value& result = unit.nodes[i]->output(k);
        if (!is_read_outside(result, unit)) continue;
        results.push_back(&result);
        callee.add_output(*inside_[static_cast<size_t>(result.id())]);
      }
    }
    callee.shapes = description.shapes ? *description.shapes : classify_shapes(callee, symbolic_);
    Node& call = graph_.add_node(Op::kCall, operands, 0);
    call.set(attributes::Call::graph, GraphRef{callee.id()});
    call.set_name(description.name);
    call.placement.engine = description.engine;
    call.placement.stream_label = description.stream_label;
    for (Value* result : results) {
      Value& outer = call.add_output(result->type_id(), result->name());
      outer.set_storage(result->storage_id());
      graph_.replace_all_uses(*result, outer);
    }
    transfer_control_edges(unit, copies, call);
    forget(unit);
    for (Node* node : unit.nodes) calls_[static_cast<size_t>(node->id())] = &call;
    cut_.insert(cut_.end(), unit.nodes.begin(), unit.nodes.end());
  }

  // Places a node that stays after the units placed so far.
  void keep(Node& node) {
    graph_.move_before(node, nullptr);
    calls_[static_cast<size_t>(node.id())] = &node;
  }

  Result<void> finish() {
    for (Node& node : graph_.nodes()) {
      if (static_cast<size_t>(node.id()) >= calls_.size()) continue;  // a Call made here
      std::vector<Node*> after = node.after();
      node.clear_after();
      for (Node* before : after) {
        if (Node* placed = calls_[static_cast<size_t>(before->id())];
            placed != nullptr && placed != &node)
          node.add_after(*placed);
      }
    }
    for (auto node = cut_.rbegin(); node != cut_.rend(); ++node) graph_.erase_node(**node);
    return graph_.restore_order();
  }

 private:
  bool belongs_inside(const Value& constant) const {
    const Segment& segment = module_.segment(constant.segment());
    return !constant.is_input() && segment.size <= kSmallSegmentBytes &&
           segment.kind != SegmentKind::kExpression;
  }

  // Makes inputs of the callee for all values that its nodes read from outside.
  std::vector<Value*> place_operands(const Unit& unit, Graph& callee) {
    std::vector<Value*> values;
    std::vector<Value*> constants;
    std::set<int32_t> made;  // by the unit itself, by value id
    std::set<int32_t> seen;
    for (Node* node : unit.nodes) {
      for (size_t i = 0; i < node->input_count(); ++i) {
        Value* input = node->input(i);
        if (input == nullptr || made.contains(input->id()) || !seen.insert(input->id()).second)
          continue;
        if (!input->is_constant()) {
          values.push_back(input);
        } else if (!belongs_inside(*input)) {
          constants.push_back(input);
        }
      }
      for (size_t k = 0; k < node->output_count(); ++k) made.insert(node->output(k).id());
    }
    for (Value* value : values) {
      Value& placeholder = callee.add_input(value->type_id(), value->name());
      placeholder.set_storage(value->storage_id());
      remember(*value, placeholder);
    }
    for (Value* constant : constants) {
      const auto index = static_cast<uint32_t>(callee.inputs().size());
      Value& placeholder = callee.add_input(constant->type_id(), constant->name());
      placeholder.set_segment(module_.make_parameter(constant->type_id(), index));
      remember(*constant, placeholder);
    }
    values.insert(values.end(), constants.begin(), constants.end());
    return values;
  }

  // Records the callee's value. New values of the graph (results of Calls) have ids after the first
  // ones.
  void remember(const Value& outer, Value& placeholder) {
    const auto id = static_cast<size_t>(outer.id());
    if (inside_.size() <= id) inside_.resize(graph_.value_limit(), nullptr);
    inside_[id] = &placeholder;
  }

  void forget(const Unit& unit) {
    for (const Node* node : unit.nodes) {
      for (size_t i = 0; i < node->input_count(); ++i) {
        if (node->input(i) != nullptr && static_cast<size_t>(node->input(i)->id()) < inside_.size())
          inside_[static_cast<size_t>(node->input(i)->id())] = nullptr;
      }
    }
  }

  bool is_read_outside(const Value& value, const Unit& unit) const {
    if (value.is_output()) return true;
    return std::any_of(value.uses().begin(), value.uses().end(), [&](const Use& use) {
      return !std::binary_search(unit.nodes.begin(), unit.nodes.end(), use.node,
                                 [](const Node* a, const Node* b) { return a->is_before(*b); });
    });
  }

  // Keeps edges within the unit inside; one from outside becomes the Call's.
  void transfer_control_edges(const Unit& unit, const std::vector<Node*>& copies, Node& call) {
    for (size_t i = 0; i < unit.nodes.size(); ++i) {
      for (const Node* before : unit.nodes[i]->after()) {
        Node* placed = calls_[static_cast<size_t>(before->id())];
        if (placed == nullptr) continue;
        if (&placed->graph() == &copies[i]->graph()) {
          copies[i]->add_after(*placed);
        } else {
          call.add_after(*placed);
        }
      }
    }
  }

  Graph& graph_;
  Module& module_;
  ModuleMapper mapper_;
  bool symbolic_;
  std::vector<Value*> inside_;  // by value id: the value of the callee being made
  std::vector<Node*> calls_;    // by node id: the node or the Call that it became
  std::vector<Node*> cut_;
};

}  // namespace

ShapeClass classify_shapes(const Graph& graph, bool symbolic) {
  const Module& module = graph.module();
  ShapeClass shapes = ShapeClass::kFixed;
  const auto is_node_result = [&](SymbolId symbol) {
    return module.expressions.symbol(symbol).origin == SymbolOrigin::kNodeResult;
  };
  for (const Value& value : graph.values()) {
    if (value.is_erased() || value.type().is_fixed()) continue;
    if (!symbolic || value.type().has_unknown()) return ShapeClass::kDynamic;
    for (const Dim& dim : value.type().dims) {
      if (dim.is_expression() &&
          any_symbol(module.expressions, static_cast<ExpressionId>(dim.value), is_node_result))
        return ShapeClass::kDynamic;
    }
    shapes = ShapeClass::kSymbolic;
  }
  return shapes;
}

Result<void> cut_clusters(Graph& graph, const std::vector<int32_t>& clusters,
                          const std::function<CutCluster(int32_t cluster)>& describe,
                          bool symbolic) {
  SLUICE_TRY(graph.restore_order());
  SLUICE_ASSIGN(const std::vector<Unit> units, order_units(graph, clusters));
  Cutter cutter(graph, symbolic);
  for (const Unit& unit : units) {
    if (unit.cluster < 0) {
      cutter.keep(*unit.nodes[0]);
    } else {
      cutter.cut(unit, describe(unit.cluster));
    }
  }
  return cutter.finish();
}

}  // namespace sluice
