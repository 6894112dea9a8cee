// Which values of a scheduled graph share bytes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/base/disjoint_sets.h"
#include "common/ir/graph.h"
#include "stages/build/streams/happens_before.h"

namespace sluice {

// Values that share bytes, with the facts that they have in common.
struct SharedBytes {
  const Value* input = nullptr;             // an input of the graph among them that is no constant
  const Value* constant = nullptr;          // a constant among them
  int64_t output = -1;                      // the index of the output that is written in place
  bool has_view = false;                    // some view shows them
  std::map<uint32_t, LiveRange> live = {};  // by stream
};

// Unites views with what they show, outputs with their memory, and the result of a kernel with an
// operand that it may overwrite: one that is last needed there, has the same type and storage, and
// is read only elementwise after the kernel's anchor.
class SharedValues {
 public:
  explicit SharedValues(const Graph& graph);

  // Returns the value with the smallest id that shares its bytes.
  int32_t find(const Value& value) { return sets_.find(value.id()); }
  SharedBytes& of(const Value& value) { return shared_[static_cast<size_t>(find(value))]; }

 private:
  void describe();
  void unite(const Value& a, const Value& b);
  void unite_views();
  void bind_outputs();
  void find_lives();
  bool ends_at(const SharedBytes& bytes, uint32_t position) const;
  bool can_overwrite(const Node& task, size_t index, uint32_t position);
  void write_in_place(const Node& task, uint32_t position);

  const Graph& graph_;
  std::vector<Node*> tasks_;
  HappensBefore order_;
  DisjointSets sets_;
  std::vector<SharedBytes> shared_;  // by value id; those of representatives count
};

}  // namespace sluice
