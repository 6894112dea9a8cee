// Builds a Fused node and its body from nodes of a graph. Scalars that lie in the graph become
// constants of the body; every other value that is made outside becomes an input, so that equal
// layers with other weights have equal bodies.
#pragma once

#include <unordered_map>
#include <vector>

#include "stages/optimize/editor.h"

namespace sluice {

// A scalar that a body may hold as its own.
bool belongs_in_body(const Value& value);

class FusedNode {
 public:
  // end: what the last node makes; the body is named after it.
  FusedNode(Editor& editor, Value& end);

  // Every operand becomes an input, scalars too.
  void copy_anchor(const Node& anchor);
  void copy(const Node& node);
  // Nodes copied from here on read the value from outside, though a copied node makes it too.
  void keep_outside(const Value& outer) { inside_.erase(&outer); }
  // The Fused node, with the anchor's name and plan, in the place of the last of `nodes`:
  // everything they read is made by then. All of them are erased; what was copied besides stays.
  Node& replace(const Node& anchor, const std::vector<Node*>& nodes);

 private:
  Value& add_input(Value& outer);
  Value& inside(Value& outer);
  void copy(const Node& node, const std::vector<Value*>& operands);

  Editor& editor_;
  Value& end_;
  Graph& body_;
  std::vector<Value*> inputs_;
  std::unordered_map<const Value*, Value*>
      inside_;  // by the value outside, or the result of a node that was copied
};

}  // namespace sluice
