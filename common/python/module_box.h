// A module and the handles that Python has on its parts.
//
// A handle goes through a cell, of which each node, value and graph has at most one. What is erased
// has an empty cell, so a handle to it says so and never dangles; a module that is compacted moves
// its nodes and values, and the cells follow them. Equal handles have equal cells.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/ops/infer.h"
#include "common/pass/editor.h"

namespace sluice::python {

// An error on its way to Python, and a handle to what is erased.
struct Failure {
  Error error;
};
struct ErasedHandle {
  std::string message;
};
[[noreturn]] void fail(Error error);
inline void check(Result<void> result) {
  if (!result) fail(std::move(result).error());
}
template <typename T>
T check(Result<T> result) {
  if (!result) fail(std::move(result).error());
  return std::move(result).value();
}

template <typename T>
struct Cell {
  T* target = nullptr;  // null: erased
  Graph* graph = nullptr;
};

struct ModuleBox {
  explicit ModuleBox(Module m) : module(std::move(m)) {}

  Cell<Node>* cell(Node& node) { return cell_in(nodes_, node, node.graph()); }
  Cell<Value>* cell(Value& value) { return cell_in(values_, value, value.graph()); }
  Cell<Graph>* cell(Graph& graph) { return cell_in(graphs_, graph, graph); }

  // Fails while a pattern is searched.
  void begin_edit() const;
  // Repairs the order of all graphs. A cycle fails, and says its nodes.
  void restore_order();
  // Does Module::compact and moves the cells.
  void compact();
  // Gives the module away; all handles are then to what is erased.
  Module release();
  // What is known of values while nodes are added; forgotten where an edit may make it wrong.
  ValueFacts& facts(Graph& graph);
  void forget_facts() { facts_.clear(); }
  Editor& editor(Graph& graph);

  Module module;
  bool has_types = true;     // false before types are inferred: nothing is then
  uint64_t edits = 0;        // how often it was changed
  bool is_searched = false;  // a pattern is; nothing but constants may be added then

 private:
  template <typename T>
  struct Cells {
    std::unordered_map<const T*, Cell<T>*> of;
    std::deque<Cell<T>> all;
  };
  template <typename T>
  static Cell<T>* cell_in(Cells<T>& cells, T& target, Graph& graph) {
    auto [found, is_new] = cells.of.try_emplace(&target, nullptr);
    if (is_new) found->second = &cells.all.emplace_back(Cell<T>{&target, &graph});
    return found->second;
  }
  struct Moves;
  void forget_erased_graphs();

  Cells<Node> nodes_;
  Cells<Value> values_;
  Cells<Graph> graphs_;
  std::unordered_map<const Graph*, ValueFacts> facts_;
  std::unordered_map<const Graph*, std::unique_ptr<Editor>> editors_;
  size_t editor_symbols_ = 0;  // that there were when they were made
};
using Box = std::shared_ptr<ModuleBox>;

template <typename T>
struct Handle {
  Box box;
  Cell<T>* cell = nullptr;

  bool operator==(const Handle& other) const { return cell == other.cell; }
};
using NodeHandle = Handle<Node>;
using ValueHandle = Handle<Value>;
using GraphHandle = Handle<Graph>;

// Return what a handle stands for. Fail for what is erased.
Node& node_of(const NodeHandle& handle);
Value& value_of(const ValueHandle& handle);
Graph& graph_of(const GraphHandle& handle);
bool is_erased(const NodeHandle& handle);
bool is_erased(const ValueHandle& handle);

inline NodeHandle handle(const Box& box, Node& node) { return {box, box->cell(node)}; }
inline ValueHandle handle(const Box& box, Value& value) { return {box, box->cell(value)}; }
inline GraphHandle handle(const Box& box, Graph& graph) { return {box, box->cell(graph)}; }

}  // namespace sluice::python
