// Builds a Fused node and its body from nodes of a graph. Scalars in the graph become constants of
// the body; every other value that is produced outside becomes an input, so that equal layers with
// other weights have equal bodies.
#pragma once

#include <unordered_map>
#include <vector>

#include "common/pass/editor.h"

namespace sluice {

class FusedNode {
 public:
  // ends: the values that stay visible, results of the Fused node in this order; the body is named
  // after the last.
  FusedNode(Editor& editor, std::vector<Value*> ends);
  // The same with the result of the last node as the only one.
  FusedNode(Editor& editor, Value& end) : FusedNode(editor, std::vector<Value*>{&end}) {}

  // Copies the anchor; every operand becomes an input, scalars too.
  void copy_anchor(const Node& anchor);
  void copy(const Node& node);
  // Makes a constant the body's own, whatever its size.
  void take_in(const Value& constant);
  // Makes nodes copied from here on read the value from outside, though a copied node produces it
  // too.
  void keep_outside(const Value& outer) { inside_.erase(&outer); }
  // Adds the Fused node, with the anchor's name and placement, in the place of the last of `nodes`:
  // everything they read is produced before it. All of them are erased; other copied nodes stay.
  Node& replace(const Node& anchor, const std::vector<Node*>& nodes);
  // The same for nodes without an anchor; the last of them gives name and placement.
  Node& replace(const std::vector<Node*>& nodes);

 private:
  Value& add_input(Value& outer);
  Value& inside(Value& outer);
  void copy(const Node& node, const std::vector<Value*>& operands);
  Node& put(const Node& model, const std::vector<Node*>& nodes);

  Editor& editor_;
  std::vector<Value*> ends_;
  Graph& body_;
  std::vector<Value*> inputs_;
  // By the value outside, or the result of a node that was copied.
  std::unordered_map<const Value*, Value*> inside_;
};

}  // namespace sluice
