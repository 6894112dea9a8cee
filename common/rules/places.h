// Where files of rules run.
#pragma once

#include <string>
#include <string_view>

#include "common/rules/rule.h"

namespace sluice::rules {

inline constexpr std::string_view kDefaultPlace = "after-builtin-fusion";

// Returns the place of that name, or null.
const RulePlace* find_place(std::string_view name);
std::string place_names();

// Returns the pass that the rules of a file run after: that of `after`, or of its place.
std::string_view pass_before(const RuleFile& file);
// Returns whether rules may run after the pass: it is one of sluice-preprocess or sluice-optimize.
bool is_place_of_rules(std::string_view pass);

// Returns the stage of a place.
std::string_view stage_of(const RuleFile& file);
// Returns whether values have types there.
bool has_types(const RuleFile& file);

}  // namespace sluice::rules
