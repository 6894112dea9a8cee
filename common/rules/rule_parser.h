// Parses files of rules. A recursive descent over the tokens of textual graphs.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/rules/rule.h"

namespace sluice::rules {

// Parses a text and checks what can be told without a graph: names that are not bound, arities,
// ops, attributes, functions. name is that of the text, for errors like "name:line:column: …"
// (kBadText).
Result<RuleFile> parse_rules(std::string_view text, const std::string& name);

inline constexpr size_t kMaxRuleBytes = 4 << 20;  // of a file

}  // namespace sluice::rules
