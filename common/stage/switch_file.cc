#include "common/stage/switch_file.h"

#include <algorithm>

#include "common/base/json.h"
#include "common/base/pass_switches.h"

namespace sluice {
namespace {

constexpr std::string_view kRoot = "Switch";
constexpr std::string_view kSections[] = {"GraphFusion", "UBFusion"};
constexpr char kExample[] =
    R"(such as {"Switch": {"GraphFusion": {"ALL": "off", "fuse-gelu": "on"}}})";

Error wrong(const std::string& what) {
  return make_error(ErrorCode::kBadJson, "{}", what).with_hint(kExample);
}

Result<void> add_section(const std::string& section, const Json& json, PassSwitches& switches) {
  if (std::ranges::find(kSections, section) == std::end(kSections))
    return wrong(fmt::format("'Switch.{}' is unknown, expected GraphFusion or UBFusion", section));
  if (json.as_object() == nullptr) return wrong(fmt::format("'Switch.{}' is no object", section));
  for (const auto& [name, value] : *json.as_object()) {
    const std::string key = fmt::format("Switch.{}.{}", section, name);
    const std::string* text = value.as_string();
    if (text == nullptr)
      return wrong(fmt::format("'{}' is {}, expected \"on\" or \"off\"", key, json_dump(value)));
    if (auto added = add_switch(name, *text, switches); !added) {
      Error error = std::move(added).error().within(fmt::format("'{}'", key));
      error.code = ErrorCode::kBadJson;
      if (error.hint.empty()) error.hint = kExample;
      return error;
    }
  }
  return {};
}

}  // namespace

Result<std::string> fusion_switch_lines(std::string_view text) {
  SLUICE_ASSIGN(const Json json, json_parse(text));
  if (json.as_object() == nullptr) return wrong("this is no object");
  for (const auto& [key, value] : *json.as_object())
    if (key != kRoot) return wrong(fmt::format("'{}' is unknown, expected Switch", key));
  const Json* sections = json.find(kRoot);
  if (sections == nullptr) return wrong("'Switch' is missing");
  if (sections->as_object() == nullptr) return wrong("'Switch' is no object");
  PassSwitches switches;
  for (const auto& [section, names] : *sections->as_object())
    SLUICE_TRY(add_section(section, names, switches));
  return switch_lines(switches);
}

}  // namespace sluice
