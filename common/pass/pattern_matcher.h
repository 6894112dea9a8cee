// Finds every place where a pattern occurs in a graph (catalogue 1.6).
//
// Candidates for the pattern's first output are the nodes of that op, in list order, from an index
// by op; from there the search goes backwards along values. Other outputs are found among the
// readers of placed values, otherwise through the index. At each choice the state is saved, and a
// mismatch continues with the next choice there, so all matches are found, also when an output runs
// out of candidates while an earlier one has more. With k patterns of bounded size over N nodes a
// search for all matches costs O(N) once and then the number of candidates.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "common/pass/boundary.h"
#include "common/pass/pattern.h"

namespace sluice {

struct MatchOptions {
  bool constant_values = false;  // constants must be equal: dtype, shape and bytes
  bool attributes = false;       // attributes of nodes must be equal
  bool commuted = false;         // the two inputs of a commutative op may be swapped
  bool force = false;            // a match is valid even if other nodes read values inside it
};

// The nodes of a graph by op, in list order. It serves any number of matchers until nodes are
// added.
class OpIndex {
 public:
  explicit OpIndex(const Graph& graph);
  const std::vector<Node*>& nodes(Op op) const { return nodes_[static_cast<size_t>(op)]; }

 private:
  std::vector<std::vector<Node*>> nodes_;
};

class Match {
 public:
  Node& node(const Node& pattern_node) const {
    return *nodes_[static_cast<size_t>(pattern_node.id())];
  }
  Value& value(const Value& pattern_value) const {
    return *values_[static_cast<size_t>(pattern_value.id())];
  }
  // Returns the value that matched the pattern's value of that name, or null when there is none.
  Value* captured(std::string_view name) const;
  // Returns the matched nodes in list order; inputs and outputs are in the pattern's order.
  Boundary boundary() const;

 private:
  friend class PatternMatcher;
  const Pattern* pattern_ = nullptr;
  std::vector<Node*> nodes_;    // by id of the pattern's node
  std::vector<Value*> values_;  // by id of the pattern's value
};

class PatternMatcher {
 public:
  // The caller owns all three, which must outlive the matcher.
  PatternMatcher(const Pattern& pattern, const OpIndex& index, MatchOptions options = {});

  // Returns the next match, or nothing when there is none left. The graph may be rewritten between
  // calls: erased nodes take part in no match, and added nodes are not candidates for outputs.
  std::optional<Match> match_next();

 private:
  struct Pair {
    const Value* pattern;
    Value* target;
  };
  void search(Node& candidate);
  void place_outputs(Match state, size_t output);
  void walk(Match state, std::vector<Pair> pending, size_t output);
  bool place_value(Match& state, Pair pair, std::vector<Pair>& pending) const;
  bool place_node(Match& state, const Node& pattern_node, Node& target) const;
  std::vector<Node*> candidates(const Match& state, const Node& pattern_node) const;
  bool is_whole(const Match& match) const;
  bool still_holds(const Match& match) const;

  const Pattern& pattern_;
  const OpIndex& index_;
  MatchOptions options_;
  bool refused_;
  size_t next_candidate_ = 0;
  std::deque<Match> found_;  // of the candidate before next_candidate_
};

}  // namespace sluice
