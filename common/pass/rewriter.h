// Puts new nodes in the place of old ones, for passes and for rules (catalogue 1.6).
#pragma once

#include <utility>
#include <vector>

#include "common/pass/editor.h"

namespace sluice {

// A replacement in the making: nothing changes for the rest of the graph before commit(), and what
// was added goes again without it.
class Replacement {
 public:
  // The old nodes are of the editor's graph, not empty, and in list order; the caller has checked
  // that they can go (can_fuse). Counts a match.
  Replacement(Editor& editor, std::vector<Node*> nodes);
  ~Replacement();
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  // Adds a node before the last old one, with the placement and the origins of the old ones.
  Node& add(Op op, const std::vector<Value*>& inputs, size_t outputs = 0);
  const std::vector<Node*>& made() const { return made_; }

  // Makes readers of each first value read the second one, a result of a new node or a value made
  // before the old nodes, of the same type; erases the old nodes, whose other results nothing
  // outside may read. The values keep the names of the old ones, and control edges go to the new
  // nodes. Counts an effect.
  void commit(const std::vector<std::pair<Value*, Value*>>& outputs);

 private:
  void give(Value& old, Value& value);

  Editor& editor_;
  std::vector<Node*> nodes_;
  std::vector<Node*> made_;
  std::vector<uint32_t> origins_;
  bool committed_ = false;
};

}  // namespace sluice
