#include "common/base/pass_switches.h"

#include <algorithm>
#include <vector>

#include "common/base/near_names.h"
#include "common/base/pass_names.h"

namespace sluice {
namespace {

constexpr std::string_view kOn = "on", kOff = "off";

// Items end with one character; within them another stands before the value.
struct Form {
  char end, before_value;
};
constexpr Form kOfList = {';', ':'}, kOfLines = {'\n', ' '};

Result<PassSwitches> parse(std::string_view text, Form form) {
  PassSwitches switches;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find(form.end, begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    if (item.empty()) continue;
    const size_t mark = item.rfind(form.before_value);
    if (mark == std::string_view::npos)
      return make_error(ErrorCode::kBadOption, "'{}' is no switch, expected PASS{}on or PASS{}off",
                        item, form.before_value, form.before_value);
    SLUICE_TRY(add_switch(item.substr(0, mark), item.substr(mark + 1), switches));
  }
  return switches;
}

}  // namespace

// Returns whether a name looks like that of a file of rules or passes.
static bool is_file_of_user(std::string_view name) {
  return name.ends_with(".rules") || name.ends_with(".py") || name.ends_with(".so");
}

Result<void> check_switch_name(std::string_view name) {
  if (name == kAllPasses || is_file_of_user(name) || find_pass_name(name) != nullptr) return {};
  std::vector<std::string_view> names = {kAllPasses};
  for (const PassName& pass : pass_names()) names.push_back(pass.name);
  return make_error(ErrorCode::kBadOption, "no stage has the pass '{}'", name)
      .with_hint(near_names_hint(name, names,
                                 "sluice STAGE --list-passes prints the passes of a stage, such as "
                                 "optimize; ALL is all of them"));
}

Result<void> add_switch(std::string_view name, std::string_view value, PassSwitches& switches) {
  if (value != kOn && value != kOff) {
    return make_error(ErrorCode::kBadOption, "'{}' is '{}', expected on or off", name, value);
  }
  SLUICE_TRY(check_switch_name(name));
  const auto [known, is_new] = switches.emplace(name, value == kOn);
  if (is_new || known->second == (value == kOn)) return {};
  return make_error(ErrorCode::kBadOption, "'{}' is both on and off", name);
}

Result<PassSwitches> parse_switch_list(std::string_view list) { return parse(list, kOfList); }
Result<PassSwitches> parse_switch_lines(std::string_view lines) { return parse(lines, kOfLines); }

std::string switch_lines(const PassSwitches& switches) {
  std::string lines;
  for (const auto& [name, is_on] : switches)
    lines += fmt::format("{} {}\n", name, is_on ? kOn : kOff);
  return lines;
}

}  // namespace sluice
