// One search for a pattern of a rule. Internal to common/rules.
#pragma once

#include <vector>

#include "common/rules/algebra.h"
#include "common/rules/matcher.h"

namespace sluice::rules {

// Returns "Mul '/gate'", "the constant 0.5" or "the input 'x'".
std::string described(const Value* value);

class Search {
 public:
  Search(const Rule& rule, size_t pattern, const OpIndex& index,
         FunctionRef<bool(const Match&)> found, PartialMatch* trace);

  // Begins with a node for a statement. Returns whether `found` was content.
  bool run(size_t statement, Node& node);

 private:
  // Steps of one search: each commuted line doubles the orders that a pattern may have.
  static constexpr size_t kMaxSteps = 20'000;

  // A value of the rule that must be this value of the graph, and the operand that says so.
  struct Goal {
    int32_t value = -1;
    Value* target = nullptr;
    const Node* reader = nullptr;
    size_t operand = 0;
  };

  // Each reaches the goals that are left, one way after the other, and leaves the state as it was.
  bool solve();
  bool may_go_on();  // counts a step
  bool is_float(const Goal& goal);
  bool solve_goal(const Goal& goal);
  bool solve_bound(const Goal& goal);
  bool solve_made(const Goal& goal, size_t statement);
  bool node_fits(const Goal& goal, size_t statement);
  bool solve_node(const Goal& goal, size_t statement);
  bool solve_operands(size_t statement, Node& node, bool is_swapped);
  bool solve_product(const Goal& goal, size_t statement);
  bool solve_factors(const Goal& goal, size_t statement, const Product& product, size_t first);
  bool solve_assigned(const Goal& goal, size_t statement, const Product& product);
  bool solve_polynomial(const Goal& goal, size_t statement);
  bool solve_unplaced();
  bool finish();

  bool binds_results(size_t statement, const Node& node);
  bool push_operand(const Operand& operand, Node& node, size_t index);
  bool attributes_fit(const Statement& statement, const Node& node);
  bool attribute_fits(const AttributeTerm& attribute, const Node& node);
  bool number_fits(const AttributeTerm* attribute, DType dtype, double number, const Node* node);
  std::vector<Node*> candidates(size_t statement, bool& is_connected) const;
  bool conditions_hold();
  bool split_kept(std::vector<Node*>& nodes);
  bool stays(const Node& node) const;
  bool can_go(const std::vector<Node*>& nodes);

  // Records why the search does not go on; `reason` is called where nothing got further yet.
  void fail(const Node* node, FunctionRef<std::string()> reason, bool is_node = true);
  std::string shown(int32_t value) const;
  size_t placed_count() const;
  size_t bound_count() const;

  const Rule& rule_;
  const Pattern& pattern_;
  size_t number_;
  const OpIndex& index_;
  FunctionRef<bool(const Match&)> found_;
  PartialMatch* trace_;

  Bindings bindings_;
  std::vector<Goal> goals_;
  std::vector<bool> is_placed_;   // by statement
  std::vector<Node*> used_;       // all nodes of the match
  std::vector<size_t> used_for_;  // of each the statement
  size_t held_ = 0;
  size_t deferred_ = 0;  // goals put off since one was reached
  size_t steps_ = 0;

 public:
  size_t steps() const { return steps_; }
};

}  // namespace sluice::rules
