// Which values of a scheduled graph share bytes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/ir/graph.h"
#include "common/ops/pieces.h"
#include "stages/build/memory/no_reuse.h"
#include "stages/build/streams/happens_before.h"

namespace sluice {

// Values that share bytes, with the facts that they have in common.
struct SharedBytes {
  const Value* input = nullptr;             // an input of the graph among them that is no constant
  const Value* constant = nullptr;          // a constant among them
  int64_t output = -1;                      // the index of the output that is written in place
  bool has_view = false;                    // some value that no task makes shows them
  bool is_apart = false;                    // nothing else is to use them, before or after
  Dim bytes = Dim::fixed(0);                // unknown when those of some value are
  std::map<uint32_t, LiveRange> live = {};  // by stream
};

// Unites views and pieces (common/ops/pieces.h), outputs with their memory, and the result of a
// kernel with an operand that it may overwrite: one that is last needed there, has the same type
// and storage, and is read only elementwise after the kernel's anchor.
class SharedValues {
 public:
  SharedValues(const Graph& graph, const NoReuse& no_reuse);

  // Returns a value that stands for all that share bytes with it.
  int32_t find(const Value& value) { return pieces_.find(value); }
  SharedBytes& of(const Value& value) { return shared_[static_cast<size_t>(find(value))]; }
  // Returns the place of a value in the bytes that are shared; 0 while sizes are not known.
  Dim offset(const Value& value);
  Dim bytes(const Value& value) { return of(value).bytes; }  // all that are shared
  const HappensBefore& order() const { return order_; }

 private:
  void describe();
  void measure(const Value& value);
  void bind_outputs();
  void find_lives();
  bool ends_at(const SharedBytes& bytes, uint32_t position) const;
  bool is_alone(const Value& value);
  bool fits_in_place(const Value& operand, const Value& result);
  bool can_overwrite(const Node& task, size_t index, uint32_t position);
  void overwrite(const Value& operand, const Value& result);
  void write_in_place(const Node& task, uint32_t position);

  void keep_apart(const Node& task);

  const Graph& graph_;
  const NoReuse& no_reuse_;
  std::vector<Node*> tasks_;
  HappensBefore order_;
  Pieces pieces_;
  std::vector<SharedBytes> shared_;  // by value id; those of representatives count
};

}  // namespace sluice
