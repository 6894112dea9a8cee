// Edits that passes of several stages share. They preserve what every rewrite must preserve: the
// names of the model's outputs, control edges, origins of merged nodes, and the values that symbols
// are read from.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "common/base/result.h"
#include "common/ir/module.h"
#include "common/pass/control_edges.h"

namespace sluice {

class Editor {
 public:
  explicit Editor(Graph& graph) : graph_(graph), control_(graph) {}

  Graph& graph() const { return graph_; }
  // Makes readers of `from` read `to` instead and returns true. Returns false, without a change,
  // when their types differ or when `from` is an output of the model and `to` cannot take over its
  // name.
  bool replace(Value& from, Value& to);
  // Erases the node if nothing reads it, then its producers if nothing reads them any more. Returns
  // whether it did.
  bool erase_unused(Node& node);
  bool has_control_edges() const { return !control_.empty(); }
  ControlEdges& control() { return control_; }

 private:
  void move_symbols(const Value& from, const Value& to);
  void erase(Node& node);

  Graph& graph_;
  ControlEdges control_;
  // By value id: the symbols that it binds; made at first use.
  std::optional<std::map<int32_t, std::vector<SymbolId>>> symbols_of_;
};

// Returns true when replace(from, …) of a constant or input is pointless: the value is an output of
// a model or of a part.
bool is_model_output(const Value& value);

// Returns false for nodes that do something besides their results, or that the placement keeps.
bool is_removable(const Node& node);

// Runs the rewrite on the root, on the graphs that it calls and on every body of control flow,
// callers first. Bodies of Fused nodes and constant expressions are the product of sluice-optimize
// and stay as they are.
Result<bool> on_every_graph(Graph& root, const std::function<Result<bool>(Graph&)>& rewrite);

// Calls the rewrite for every node of these graphs, which it may erase; it says whether it changed
// anything.
Result<bool> on_every_node(Graph& root, const std::function<bool(Editor&, Node&)>& rewrite);

}  // namespace sluice
