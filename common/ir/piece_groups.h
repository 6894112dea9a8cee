// Values whose memory is parts of one whole: those that a Concat puts together, those that a Split
// takes apart. Sets of values with a distance each from the first of its set (weighted union and
// find; see disjoint_sets.h), and the ranges in them that are written.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/symbolic/expression.h"

namespace sluice {

// Distances and extents are expressions in one unit, bytes or elements.
class PieceGroups {
 public:
  PieceGroups(ExpressionTable& table, size_t values) : table_(table), nodes_(values) {}

  // Says that the value has units of its own, which a task writes or which are there before: it is
  // neither a part nor made of parts. At most once for each value, before it is joined.
  void add_owner(int32_t value, ExpressionId extent);
  // Says that the memory of the value is given from outside: its group has no units outside of it.
  void pin(int32_t value, ExpressionId extent);

  // Lets `part` begin `distance` after `whole` does, which unites their groups. Returns an empty
  // text, or, when that cannot be, the reason; nothing is changed then.
  std::string_view join(int32_t whole, int32_t part, ExpressionId distance);

  // A value and its distance from the whole that it is to lie in.
  struct Part {
    int32_t value = -1;  // -1: a new one, which a task writes
    ExpressionId distance = -1;
    ExpressionId extent = -1;  // of a new one
  };
  // Returns what join would return for each part when those without a reason are joined: first
  // those that are in no group yet, last those in memory that is given. Changes nothing.
  std::vector<std::string_view> reasons(int32_t whole, const std::vector<Part>& parts);

  // Lets the value begin where `base` does, in the same units at another time, whoever owns them.
  void overlay(int32_t base, int32_t value);

  int32_t find(int32_t value) { return locate(value).root; }
  bool is_joined(int32_t value) { return group(value).members > 1; }
  // Returns the distance of a value from the first unit of its group; nothing when the order of the
  // parts depends on sizes.
  std::optional<ExpressionId> offset(int32_t value);
  // Returns the extent of a value's group, under the same condition.
  std::optional<ExpressionId> extent(int32_t value);

 private:
  struct Range {
    ExpressionId begin = -1, end = -1;  // from the root
  };
  // By value; the facts of a group are those of its root.
  struct Node {
    int32_t parent = -1;         // -1: a root
    ExpressionId distance = -1;  // from the parent
    std::vector<Range> owned;    // sorted, while all are numbers
    std::optional<Range> pinned;
    int32_t members = 1;
  };
  struct Place {
    int32_t root = -1;
    ExpressionId distance = -1;
  };
  // The group that one of these would be.
  struct Union {
    std::vector<Range> owned;
    std::optional<Range> pinned;
  };

  Node& node(int32_t value) { return nodes_[static_cast<size_t>(value)]; }
  Node& group(int32_t value) { return node(locate(value).root); }
  Place locate(int32_t value);
  std::vector<Range> moved(const std::vector<Range>& ranges, ExpressionId by);
  bool is_number(ExpressionId id) const { return table_[id].op == ExpressionOp::kConstant; }
  bool are_numbers(const std::vector<Range>& ranges) const;
  bool is_not_above(ExpressionId a, ExpressionId b) const;
  bool is_within(const Range& part, const Range& whole) const;
  bool overlap(const std::vector<Range>& a, const std::vector<Range>& b) const;
  void merge(std::vector<Range>& into, const std::vector<Range>& ranges) const;
  std::string_view add(Union& group, const Node& moving, ExpressionId by);
  void unite(const Place& to, const Place& from, ExpressionId by, Union group);

  ExpressionTable& table_;
  std::vector<Node> nodes_;
};

}  // namespace sluice
