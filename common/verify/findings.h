// The findings of a verifier. Internal to common/verify.
#pragma once

#include <string>
#include <vector>

#include "common/ir/module.h"

namespace sluice::verifying {

class Findings {
 public:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    ++count_;
    if (lines_.size() < kShown) lines_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  void add_error(const Error& error) { add("{}", error.message); }
  // Returns one error that lists them, or success.
  Result<void> result(std::string_view what) const;

 private:
  static constexpr size_t kShown = 20;
  std::vector<std::string> lines_;
  size_t count_ = 0;
};

std::string value_label(const Value& value);  // "value 'x' of graph 'main'"
std::string graph_label(const Graph& graph);

// Returns true when a value of one type may be bound to one of the other: the known facts of both
// must be equal.
bool types_fit(const Module& module, TypeId a, TypeId b);

// Returns whether a node without kernel is a copy, of all elements or of those that it appends:
// rts runs it.
bool is_copied(const Node& node);

void check_typed(const Module& module, Findings& findings);
void check_partitioned(const Module& module, Findings& findings);
void check_lowered(const Module& module, Findings& findings);
// Below level scheduled it is for a lowered graph whose stage stopped half-way, which has some of
// the facts.
void check_schedule(const Module& module, Level level, Findings& findings);
// Checks facts of a schedule that follow from others: a compiled model is made of both.
void check_plan(const Graph& graph, bool is_complete, Findings& findings);
// Checks the results of a scheduled graph that lie on operands of their kernels.
void check_in_place(const Graph& graph, Findings& findings);

}  // namespace sluice::verifying
