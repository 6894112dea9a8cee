#include "common/stage/arguments.h"

#include <algorithm>

#include "common/base/command_line.h"
#include "common/base/release.h"

namespace sluice {
namespace {

// Options that name passes speak of one stage only.
bool is_of_one_stage(std::string_view name) { return name == "passes" || name == "skip"; }

std::string joined(std::vector<std::string> values) {
  std::sort(values.begin(), values.end());
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ";") + value;
  return text;
}

}  // namespace

Result<ParsedArguments> parse_arguments(int argc, char** argv, const char* usage) {
  SLUICE_ASSIGN(const CommandLine line, CommandLine::parse(usage, argc, argv));
  ParsedArguments parsed;
  if (line.wish() == CommandLine::Wish::kHelp) parsed.print = usage;
  if (line.wish() == CommandLine::Wish::kVersion) parsed.print = fmt::format("sluice {}\n", kRelease);
  parsed.list_passes = line.flag("--list-passes");
  StageArgs& args = parsed.args;
  args.input = line.has("<in>") ? line.list("<in>")[0] : "-";
  args.output = line.has("-o") ? line.text("-o") : "-";
  if (line.has("<in>")) args.more_inputs.assign(line.list("<in>").begin() + 1, line.list("<in>").end());
  for (const OptionRow& row : option_table()) {
    const std::string name = fmt::format("--{}", row.name);
    if (line.has(name)) SLUICE_TRY(args.options.set(row.name, joined(line.list(name))));
  }
  return parsed;
}

Result<void> inherit_options(Options& options, StageId stage, const std::map<std::string, std::string>& travelling) {
  std::map<std::string, std::string> ours;
  const std::string prefix = std::string(stage_name(stage)) + ".";
  for (const auto& [name, value] : travelling) {
    if (name.find('.') == std::string::npos) ours.emplace(name, value);
    if (name.starts_with(prefix)) ours.emplace(name.substr(prefix.size()), value);
  }
  return options.inherit(ours);
}

void export_options(const Options& options, StageId stage, std::map<std::string, std::string>& travelling) {
  for (const auto& [name, value] : options.meaning()) {
    travelling[is_of_one_stage(name) ? fmt::format("{}.{}", stage_name(stage), name) : name] = value;
  }
}

}  // namespace sluice
