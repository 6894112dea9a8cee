// Which values of a scheduled graph share memory whatever the order of its tasks: a view and what
// it shows, operands of a Concat that has no task and its result, results of such a Split and its
// operand. docs/schedule.md says when a Concat or Split needs no task.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/ir/graph.h"
#include "common/ir/piece_groups.h"

namespace sluice {

// Returns whether the node puts values together or takes one apart: a Concat or Split.
bool is_piecewise(const Node& node);
// Return the whole of such a node, and its pieces in order.
const Value& whole_of(const Node& node);
std::vector<const Value*> pieces_of(const Node& node);

// Returns the axis along which such a node puts together or takes apart.
size_t joined_axis(const Node& node);

// Returns the output of its graph that a copy of resolve-conflicts fills, else nothing.
std::optional<uint32_t> copied_output(const Node& node);

// Returns the value whose bytes a view shows, through views; the value itself where it is none.
const Value& viewed(const Value& value);

// Returns the class of memory that the node names which makes what a value shows; empty: none.
const std::string& memory_class_of(const Value& value);

// Returns whether copying a whole costs more than that its pieces' kernels are made for it: from 16
// KiB on, at nominal sizes. A whole that is smaller is in the cache, and so are its pieces.
bool is_worth_pieces(const Value& whole);

// Distances are bytes. Groups change when nodes are added; the graph does not.
class Pieces {
 public:
  // Enters the values of the graph but for the results of Concat, Split and views.
  explicit Pieces(const Graph& graph);

  // Adds a node as its placement says; nodes are added in the order of the graph.
  void add(const Node& node);

  // What keeps a Concat or Split from having no task.
  struct TaskReason {
    std::string reason;          // empty: nothing
    std::vector<size_t> copied;  // operands of a Concat; with copies of these nothing keeps it
  };
  // The node was not added.
  TaskReason task_reason(const Node& node);
  // Returns why an operand of a Concat that has no task is a copy of `original`, rather than that
  // itself. The node was not added.
  std::string copy_reason(const Node& concat, size_t operand, const Value& original);
  // Enters a copy of an operand, which is new in the graph and which a task writes.
  void enter(const Value& value);
  // Adds a Concat or Split whose reason is empty as one that has no task.
  void join(const Node& node);

  int32_t find(const Value& value) { return groups_.find(value.id()); }
  // Lets a result be written over an operand.
  void overlay(const Value& operand, const Value& result) {
    groups_.overlay(operand.id(), result.id());
  }
  // Returns the bytes from the start of the value's group to the value; unknown when some size in
  // it is, or the order of the pieces depends on sizes.
  Dim offset(const Value& value);

 private:
  using Part = PieceGroups::Part;

  std::optional<ExpressionId> owned_bytes(const Value& value) const;
  void pin_outputs();
  std::string add_parts(const Node& node, std::vector<Part>& parts);
  TaskReason copies(const Node& node, const std::vector<Part>& parts,
                    const std::vector<std::string_view>& reasons);

  const Graph& graph_;
  ExpressionTable& expressions_;
  PieceGroups groups_;
};

}  // namespace sluice
