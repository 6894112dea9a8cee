// What can be said of a rule without a graph. Internal to common/rules.
#pragma once

#include "common/base/lexer.h"
#include "common/rules/rule.h"

namespace sluice::rules {

// Checks a rule that has been parsed, and completes it: makers, numbers, outputs and sources.
// Errors, with line and column: kBadText.
Result<void> check_rule(Rule& rule, const RuleFile& file, const text::Lexer& lexer);

}  // namespace sluice::rules
