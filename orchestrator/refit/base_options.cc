#include "orchestrator/refit/base_options.h"

#include <algorithm>
#include <string_view>

#include "common/base/files.h"
#include "common/base/json.h"
#include "common/base/options.h"
#include "common/base/pass_switches.h"
#include "orchestrator/compile/stages.h"

namespace sluice {
namespace {

constexpr std::string_view kRules = "rules.", kPass = "pass.";

Error unknown_option(const std::string& name) {
  if (name.starts_with(kRules)) {
    return make_error(ErrorCode::kBadCompiledModel,
                      "the compiled model was changed by the rules of '{}', whose text it has not",
                      name.substr(kRules.size()))
        .with_hint("compile the new model with --rules, it cannot be refitted");
  }
  if (name.starts_with(kPass)) {
    return make_error(ErrorCode::kBadCompiledModel,
                      "the compiled model was changed by the passes of '{}', which it has not",
                      name.substr(kPass.size()))
        .with_hint("compile the new model with --pass, it cannot be refitted");
  }
  return make_error(ErrorCode::kBadCompiledModel,
                    "the compiled model records the option '{}', which this release does not know",
                    name);
}

// Takes a list of passes, which belongs to one stage: "optimize.skip".
bool take_passes(const std::string& name, const std::string& value, StageOptions& options) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return false;
  const std::string stage = name.substr(0, dot), option = name.substr(dot + 1);
  if (std::ranges::find(kStageNames, stage) == kStageNames.end()) return false;
  if (option != "passes" && option != "skip") return false;
  (option == "passes" ? options.passes : options.skip)
      .push_back(fmt::format("{}:{}", stage, value));
  return true;
}

// Returns what was typed into the file whose content is recorded, in some form of it.
Result<std::string> typed_content(const std::string& content, const std::string& name) {
  if (name == "modify-mixlist") return mixlist_json(content);
  return name == "fusion-switch-file" ? switches_json(content) : content;
}

Result<std::string> file_with(const std::string& content, const std::string& name,
                              const std::string& folder) {
  const std::string path = fmt::format("{}/{}", folder, name);
  SLUICE_ASSIGN(const std::string text, typed_content(content, name));
  SLUICE_TRY(write_file(path, std::as_bytes(std::span(text))));
  return path;
}

}  // namespace

std::string mixlist_json(const std::string& lines) {
  Json allow, deny, gray;
  for (size_t begin = 0, end = 0; begin < lines.size(); begin = end + 1) {
    end = std::min(lines.find('\n', begin), lines.size());
    const std::string line = lines.substr(begin, end - begin);
    const size_t blank = std::min(line.rfind(' '), line.size());
    const std::string word = line.substr(std::min(blank + 1, line.size()));
    Json& list = word == "allow" ? allow : word == "deny" ? deny : gray;
    list.push(line.substr(0, blank));
  }
  Json json;
  const std::pair<const char*, Json*> lists[] = {
      {"white-list", &allow}, {"black-list", &deny}, {"gray-list", &gray}};
  for (const auto& [name, operators] : lists) {
    if (operators->as_array() == nullptr) continue;
    Json changes;
    changes.set("to-add", std::move(*operators));
    json.set(name, std::move(changes));
  }
  return json_dump(json);
}

Result<std::string> switches_json(const std::string& lines) {
  auto switches = parse_switch_lines(lines);
  if (!switches) {
    return make_error(ErrorCode::kBadCompiledModel,
                      "the compiled model records --fusion-switch-file: {}",
                      switches.error().message);
  }
  Json names{Json::Object{}}, section, json;
  for (const auto& [name, is_on] : *switches) names.set(name, is_on ? "on" : "off");
  section.set("GraphFusion", std::move(names));
  json.set("Switch", std::move(section));
  return json_dump(json);
}

Result<StageOptions> options_of_model(const pb::ModelDef& model, const std::string& folder) {
  StageOptions options;
  for (const pb::OptionDef& def : model.options()) {
    if (take_passes(def.name(), def.value(), options)) continue;
    const OptionRow* row = find_option(def.name());
    if (row == nullptr || row->kind != OptionKind::kSemantic) return unknown_option(def.name());
    std::string value = def.value();
    if (names_file(row->name)) {
      SLUICE_ASSIGN(value, file_with(value, def.name(), folder));
    }
    options.semantic.push_back(option_argument(*row, value));
  }
  return options;
}

}  // namespace sluice
