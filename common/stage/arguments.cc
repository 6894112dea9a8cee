#include "common/stage/arguments.h"

#include <docopt/docopt.h>

#include <algorithm>

#include "common/base/version.h"

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

Result<void> take_argument(const std::string& name, const docopt::value& value, ParsedArguments& parsed) {
  StageArgs& args = parsed.args;
  if (name == "<in>") {
    if (value.isString()) args.input = value.asString();
    if (value.isStringList() && !value.asStringList().empty()) {
      args.input = value.asStringList()[0];
      args.more_inputs.assign(value.asStringList().begin() + 1, value.asStringList().end());
    }
  } else if (name == "-o") {
    if (value.isString()) args.output = value.asString();
  } else if (name == "--list-passes") {
    parsed.list_passes = value.isBool() && value.asBool();
  } else if (name.starts_with("--") && name != "--help" && name != "--version") {
    const std::string option = name.substr(2);
    if (value.isString()) return args.options.set(option, value.asString());
    if (value.isStringList() && !value.asStringList().empty()) return args.options.set(option, joined(value.asStringList()));
  }
  return {};
}

}  // namespace

Result<ParsedArguments> parse_arguments(int argc, char** argv, const char* usage) {
  ParsedArguments parsed;
  parsed.args.input = parsed.args.output = "-";
  try {
    const auto arguments = docopt::docopt_parse(usage, {argv + 1, argv + argc}, true, true);
    for (const auto& [name, value] : arguments) SLUICE_TRY(take_argument(name, value, parsed));
  } catch (const docopt::DocoptExitHelp&) {
    parsed.print = usage;
  } catch (const docopt::DocoptExitVersion&) {
    parsed.print = std::string(kVersion) + "\n";
  } catch (const std::exception& failure) {
    const std::string program = std::string(argv[0]).substr(std::string(argv[0]).rfind('/') + 1);
    const std::string reason = failure.what();
    return make_error(ErrorCode::kUsage, "{}", reason.empty() ? "the arguments do not fit the usage" : reason)
        .with_hint(fmt::format("try: {} --help", program));
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
