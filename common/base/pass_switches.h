// Switches of passes, by which a user turns single ones on and off.
//
//   --optimization-switch=LIST  "ALL:off;fuse-gelu:on"
//   --fusion-switch-file=FILE   JSON, which travels as lines "fuse-gelu on"
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace sluice {

inline constexpr std::string_view kAllPasses = "ALL";

// By the name of a pass, or kAllPasses: true is on.
using PassSwitches = std::map<std::string, bool, std::less<>>;

// Checks that a stage has the pass. Accepts any file of rules or passes, "mine.rules", "mine.py",
// "mine.so": only the stage that
// reads it knows. Errors: kBadOption, with the names that are near.
Result<void> check_switch_name(std::string_view name);

// Adds one switch. Errors: kBadOption for a value that is not "on" or "off", an unknown name, and
// the contrary of an earlier switch.
Result<void> add_switch(std::string_view name, std::string_view value, PassSwitches& switches);

// Parses the value of --optimization-switch; and lines as --fusion-switch-file travels.
Result<PassSwitches> parse_switch_list(std::string_view list);
Result<PassSwitches> parse_switch_lines(std::string_view lines);

// Prints switches as they travel, sorted by name.
std::string switch_lines(const PassSwitches& switches);

}  // namespace sluice
