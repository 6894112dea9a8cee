#include "orchestrator/store/differences.h"

#include <algorithm>

#include "common/base/options.h"
#include "fmt/format.h"
#include "orchestrator/compile/stages.h"

namespace sluice {
namespace {

constexpr std::string_view kOption = "option";
constexpr std::string_view kProgramField = "program.";  // in the record of a compile
constexpr std::string_view kContent = "content ";       // of a file in place of its path

std::vector<std::string> names_of(const Record& a, const Record& b) {
  std::vector<std::string> names;
  for (const Record* record : {&a, &b})
    for (const auto& [name, value] : record->fields.rows())
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

// All values of a name, since an option may be given several times.
std::optional<std::string> value_of(const Record& record, const std::string& name) {
  std::optional<std::string> joined;
  for (const auto& [each, value] : record.fields.rows())
    if (each == name) joined = joined ? *joined + ";" + value : value;
  return joined;
}

std::string program_of(const std::string& kind) {
  return "sluice-" + (kind == "kernel" ? "subgraph-optimize" : kind);
}

std::string value_text(const std::optional<std::string>& value, std::string_view fallback) {
  if (!value) return fallback.empty() ? "not given" : std::string(fallback);
  return value->starts_with(kContent) ? "a file" : value->empty() ? "on" : *value;
}

// Returns the name of the option that a field is about, empty when it is about none: "option.math",
// or "build.denormals" in the record of a compile.
std::string option_of(const std::string& field) {
  const size_t dot = field.find('.');
  if (dot == std::string::npos) return {};
  const std::string_view start = std::string_view(field).substr(0, dot);
  const bool is_option =
      start == kOption || std::ranges::find(kStageNames, start) != kStageNames.end();
  return is_option ? field.substr(dot + 1) : std::string();
}

std::string option_text(const FieldDifference& difference, const std::string& name) {
  const OptionRow* row = find_option(name);
  const std::string_view fallback = row == nullptr ? "" : row->fallback;
  const auto is_file = [](const auto& value) { return value && value->starts_with(kContent); };
  if (std::ranges::all_of(difference.value, is_file))
    return fmt::format("option --{}: files of other content", name);
  return fmt::format("option --{}: {}, {}", name, value_text(difference.value[0], fallback),
                     value_text(difference.value[1], fallback));
}

std::string difference_text(const FieldDifference& difference, const std::string& kind) {
  const std::string& field = difference.field;
  if (const std::string option = option_of(field); !option.empty())
    return option_text(difference, option);
  if (field == "build") return fmt::format("build: another build of {}", program_of(kind));
  if (field.starts_with(kProgramField))
    return fmt::format("build: another build of {}",
                       program_of(field.substr(kProgramField.size())));
  if (field == "input") return "input: another graph";
  if (field == "specification") return "specification: another kernel";
  return fmt::format("{}: {}, {}", field, value_text(difference.value[0], ""),
                     value_text(difference.value[1], ""));
}

}  // namespace

std::vector<FieldDifference> differences_of(const Record& a, const Record& b) {
  std::vector<FieldDifference> found;
  for (const std::string& name : names_of(a, b)) {
    FieldDifference difference{
        .field = name, .value = {value_of(a, name), value_of(b, name)}, .text = {}};
    if (difference.value[0] == difference.value[1]) continue;
    difference.text = difference_text(difference, a.kind);
    found.push_back(std::move(difference));
  }
  return found;
}

}  // namespace sluice
