// How values lie within each other (FixedPart.piece_value, piece_of), checked without running
// anything.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/omcheck/footprint.h"

namespace sluice {

struct PieceGraph {
  std::vector<std::vector<uint32_t>> members;  // by whole that no task writes: what it consists of
  std::vector<std::vector<uint32_t>> member_of;  // by value: the wholes it is a member of
  // By whole: pieces that nothing else needs to make, complete once the whole is, as the results of
  // a Split are.
  std::vector<std::vector<uint32_t>> slices;
  std::vector<std::string> faults;  // a sentence each
};

// Builds the graph. is_made: whether a value is the result of a task, an input or a constant.
// name: the text of a value for messages. The members of a whole that is neither made nor a slice
// are its pieces that are made or contain such, and then those of its other pieces, in the order of
// the arrays, without which it is not full. A whole that is a view (alias_value) and contains
// nothing that is made may instead show a value, whose slices its pieces are then: it has members
// only if these fill it, and that they do not is no fault. Faults are: a value that is a piece of
// itself; a piece that is no part of its whole, as footprints, not spans; members that share bytes
// or leave a gap. O((values + pieces) log pieces), and the square of the number of members that lie
// between each other's rows.
PieceGraph build_piece_graph(const pb::FixedPart& part, std::span<const Footprint> footprints,
                             const std::vector<bool>& is_made,
                             const std::function<std::string(uint32_t)>& name);

}  // namespace sluice
