// What can be said of a rule without a graph. Internal to common/rules.
#pragma once

#include "common/base/lexer.h"
#include "common/rules/rule.h"

namespace sluice::rules {

// Checks a rule that has been parsed, and completes it: makers, numbers, outputs and sources.
// Errors, with line and column: kBadText.
Result<void> check_rule(Rule& rule, const RuleFile& file, const text::Lexer& lexer);

// Does the same for the replacement that an open rule got. Its values from `first` up to `end` are
// none of the pattern, and there.
Result<void> check_closed(Rule& rule, size_t first, size_t end, const RuleFile& file,
                          const text::Lexer& lexer);

}  // namespace sluice::rules
