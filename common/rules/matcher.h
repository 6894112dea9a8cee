// Finds the places of a graph where a rule applies, and says why a place is none.
//
// The search begins at the node that the rule's last output comes from and goes backwards along
// values. At each choice, of an alternative, the order of operands, an optional node or the node of
// another output, it goes on with the next one after a mismatch, so all matches are found.
#pragma once

#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/function_ref.h"
#include "common/pass/op_index.h"
#include "common/rules/term.h"

namespace sluice::rules {

struct Match {
  Bindings bindings;
  std::vector<Node*> nodes;  // what the replacement takes the place of, in list order
  size_t pattern = 0;        // which alternative it is
};

// The place where a search got furthest, and what it found there.
struct PartialMatch {
  std::string reason;          // "operand 1 of node '/mul_3' (Mul) is Cast, expected Erf"
  const Node* node = nullptr;  // that the reason is about
  // How far it got, the first of these that differs deciding:
  size_t placed = 0;     // statements with a node
  size_t held = 0;       // conditions that hold, where all statements have a node
  bool is_node = false;  // a node is there that does not fit, and not only an input or nothing
  bool is_root = false;  // the search began at the root
  size_t bound = 0;      // values that were found

  bool is_behind(const PartialMatch& other) const {
    return std::tie(placed, held, is_node, is_root, bound) <
           std::tie(other.placed, other.held, other.is_node, other.is_root, other.bound);
  }
};

class Matcher {
 public:
  // The caller owns both, which must outlive the matcher. The index may be older than the graph.
  Matcher(const Rule& rule, const OpIndex& index);

  // The ops of nodes from which a match can begin.
  const std::vector<Op>& root_ops() const { return root_ops_; }

  // Calls `found` for each match that begins at the node, until it returns true. Returns whether it
  // did. With `trace`, records the furthest mismatch if it is further than the trace's.
  // Of two that are as far, the later node's stays.
  bool match_at(Node& node, FunctionRef<bool(const Match&)> found, PartialMatch* trace = nullptr);

  // Returns whether the searches at all nodes together took too long: then nothing matches any
  // more.
  bool is_exhausted() const { return steps_ > kMaxSteps; }

  // Searches each statement's part of the pattern alone, for a node whose readers do not fit: the
  // furthest mismatch is then of the reader.
  void explain_at(Node& node, PartialMatch& trace);

 private:
  const Rule& rule_;
  const OpIndex& index_;
  std::vector<Op> root_ops_;
  static constexpr size_t kMaxSteps = 20'000'000;
  size_t steps_ = 0;
};

// Returns the statement of a pattern that matches begin at: the last that makes an output.
size_t root_statement(const Rule& rule, const Pattern& pattern);
// Returns the ops that a statement's node may have.
std::span<const Op> ops_of(const Statement& statement);
std::string statement_text(const Statement& statement);  // "Erf or Tanh"

}  // namespace sluice::rules
