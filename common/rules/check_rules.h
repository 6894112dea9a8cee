// Checks rules by their values: the pattern and the replacement of a rule are evaluated on drawn
// inputs, of several dtypes and of shapes that its conditions allow, and must agree.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/rules/rule.h"

namespace sluice::rules {

struct RuleCheck {
  std::string rule;
  size_t instances = 0;        // graphs on which both sides were evaluated
  bool is_definition = false;  // of an operator of another domain: there is nothing to compare
};

// Draws by one seed, so a rule has one result. Errors: kBadText, which name the rule
// and what differs, or that nothing was found on which the rule could be tried.
Result<std::vector<RuleCheck>> check_rules(const RuleFile& file);

}  // namespace sluice::rules
