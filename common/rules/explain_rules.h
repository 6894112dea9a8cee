// Says where a rule matches in a graph, or why it does not.
#pragma once

#include <string>
#include <vector>

#include "common/ir/module.h"
#include "common/rules/rule.h"

namespace sluice::rules {

struct RuleFinding {
  std::string rule;
  std::vector<std::string> matches;  // "node 'y' (Add), node 'p' (MatMul)": replaced nodes
  // Of the furthest place that is no match; empty when no node has an op of the rule.
  std::string reason;
  std::string node;   // label of the node that it is about
  size_t placed = 0;  // lines of the pattern that have a node there
  size_t lines = 0;   // of all lines
};

// Searches the root and all graphs below it, without a change. node: only places that have a node
// of this name, or one that makes a value of it; empty: all. with_reasons: also for rules that
// match.
std::vector<RuleFinding> explain_rules(Graph& root, const RuleFile& file, const std::string& rule,
                                       const std::string& node);

}  // namespace sluice::rules
