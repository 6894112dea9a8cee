// Open rules: patterns and conditions as text, whose replacements code makes, one for each match.
//
//   rule swish {
//     match   { %s = Sigmoid(%x)  %y = Mul(%x, %s) commuted }
//     outputs %y
//   }
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/pass/pass.h"
#include "common/rules/matcher.h"
#include "common/rules/rule.h"

namespace sluice::rules {

// The replacement of one match.
struct OwnReplacement {
  std::string lines;  // those between the braces of `replace`: "%y = Swish(%x)"
  // Values that the lines read besides those of the pattern; they are made before the match.
  std::vector<std::pair<std::string, Value*>> values;
};

// What decides on matches. Exceptions that its functions throw pass through.
struct OpenReplacer {
  std::function<bool(const Rule&, const Match&)> accepts;  // else the search goes on
  // Returns nothing to leave the match as it is.
  std::function<std::optional<OwnReplacement>(const Rule&, const Match&)> replace;
};

// Parses a text of open rules, others among them. Errors: as parse_rules.
Result<RuleFile> parse_open_rules(std::string_view text, const std::string& name);

// Returns the rule with this replacement. Errors: kBadText, for lines that a rule could not have.
Result<Rule> close_rule(const RuleFile& file, const Rule& open, const OwnReplacement& own);

// Does what apply_rules does. Rules that are not open are applied as they are.
Result<bool> apply_open_rules(Graph& root, const RuleFile& file, const OpenReplacer& replacer,
                              std::vector<RuleCount>& counts);

}  // namespace sluice::rules
