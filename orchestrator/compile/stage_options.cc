#include "orchestrator/compile/stage_options.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "common/base/options.h"
#include "common/passes_host/pass_file.h"
#include "fmt/ranges.h"
#include "orchestrator/compile/stages.h"

namespace sluice {
namespace {

// The options that are handled one by one. The others go to all stages, or to the first: those that
// travel in the file from there, and those of the import.
constexpr std::string_view kHandled[] = {"dump-dir",
                                         "stats",
                                         "passes",
                                         "rules",
                                         "unchecked-rules",
                                         "pass",
                                         "pass-seconds",
                                         "pass-memory",
                                         "skip",
                                         "stop-after",
                                         "segments",
                                         "store",
                                         "model",
                                         "weights-beside",
                                         "sandbox-memory",
                                         "sandbox-seconds",
                                         "sandbox-file-bytes",
                                         "key"};

// The stages that read rules.
constexpr size_t kRuleStages = 2;

bool is_for_first(const OptionRow& row) {
  return row.kind != OptionKind::kNonSemantic || row.name == "strict";
}

void add_to(std::vector<std::string>& arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

constexpr std::string_view kOwnPass = "--pass=";

// Returns the place of the stage that runs the passes of such an argument.
Result<size_t> stage_of_pass(const std::string& argument) {
  SLUICE_ASSIGN(const PassOption option,
                parse_pass_option(std::string_view(argument).substr(kOwnPass.size())));
  return static_cast<size_t>(std::ranges::find(kStageNames, option.point->stage) -
                             kStageNames.begin());
}

// Splits "STAGE:LIST" items into one list for each stage, because pass names belong to a stage.
Result<std::array<std::string, kStageNames.size()>> by_stage(std::string_view option,
                                                             const std::vector<std::string>& values,
                                                             size_t first, size_t last) {
  std::array<std::string, kStageNames.size()> lists;
  for (const std::string& value : values) {
    for (size_t begin = 0, end = 0; begin < value.size(); begin = end + 1) {
      end = std::min(value.find(';', begin), value.size());
      const std::string_view item = std::string_view(value).substr(begin, end - begin);
      const size_t colon = item.find(':');
      const auto* stage = std::find(kStageNames.begin(), kStageNames.end(), item.substr(0, colon));
      if (colon == std::string_view::npos || stage < kStageNames.begin() + first ||
          stage > kStageNames.begin() + last) {
        return make_error(ErrorCode::kBadOption,
                          "--{} has '{}', expected STAGE:PASS,PASS,... with a stage that runs",
                          option, item)
            .with_hint(fmt::format("such as --{}=optimize:fold-constants; sluice optimize "
                                   "--list-passes prints the passes of that stage",
                                   option));
      }
      std::string& list = lists[static_cast<size_t>(stage - kStageNames.begin())];
      list += (list.empty() ? "" : ",") + std::string(item.substr(colon + 1));
    }
  }
  return lists;
}

}  // namespace

Result<StageOptions> stage_options(const CommandLine& line) {
  StageOptions options{.semantic = {},
                       .non_semantic = {},
                       .passes = line.list("--passes"),
                       .skip = line.list("--skip"),
                       .rules = {},
                       .own_passes = {},
                       .own_pass_limits = {}};
  for (const std::string& file : line.list("--rules")) options.rules.push_back("--rules=" + file);
  if (line.has("--unchecked-rules")) options.rules.emplace_back("--unchecked-rules");
  for (const std::string& pass : line.list("--pass"))
    options.own_passes.push_back(std::string(kOwnPass) + pass);
  for (const std::string limit : {"--pass-seconds", "--pass-memory"})
    if (line.has(limit)) options.own_pass_limits.push_back(limit + "=" + line.text(limit));
  for (const OptionRow& row : option_table()) {
    for (const std::string& value : line.list(fmt::format("--{}", row.name)))
      SLUICE_TRY(check_option_value(row, typed_value(row, value)));
    if (std::find(std::begin(kHandled), std::end(kHandled), row.name) != std::end(kHandled))
      continue;
    const std::string name = "--" + std::string(row.name);
    auto& arguments = is_for_first(row) ? options.semantic : options.non_semantic;
    const std::vector<std::string>& values = line.list(name);
    if (row.name == "dim") {
      for (const std::string& value : values) arguments.push_back(name + "=" + value);
    } else if (!values.empty()) {
      arguments.push_back(option_argument(row, fmt::format("{}", fmt::join(values, ";"))));
    }
  }
  return options;
}

Result<std::vector<std::vector<std::string>>> early_arguments(const StageOptions& options,
                                                              size_t first, size_t last) {
  if (first >= kRuleStages && !options.rules.empty()) {
    return make_error(ErrorCode::kBadOption,
                      "{} comes too late: rules rewrite graphs in sluice-preprocess and "
                      "sluice-optimize, which this graph is past",
                      options.rules[0]);
  }
  for (const std::string& pass : options.own_passes) {
    SLUICE_ASSIGN(const size_t stage, stage_of_pass(pass));
    if (stage >= first) continue;
    return make_error(ErrorCode::kBadOption,
                      "{} comes too late: it runs in sluice-{}, which this graph is past", pass,
                      kStageNames[stage]);
  }
  SLUICE_ASSIGN(const auto passes, by_stage("passes", options.passes, first, last));
  SLUICE_ASSIGN(const auto skip, by_stage("skip", options.skip, first, last));
  std::vector<std::vector<std::string>> stages;
  for (size_t i = first; i <= last; ++i) {
    std::vector<std::string>& arguments = stages.emplace_back();
    if (i == first) add_to(arguments, options.semantic);
    if (i < kRuleStages) add_to(arguments, options.rules);
    for (const std::string& pass : options.own_passes) {
      SLUICE_ASSIGN(const size_t stage, stage_of_pass(pass));
      if (stage == i) arguments.push_back(pass);
    }
    if (!passes[i].empty()) arguments.push_back("--passes=" + passes[i]);
    if (!skip[i].empty()) arguments.push_back("--skip=" + skip[i]);
  }
  return stages;
}

Result<std::vector<std::vector<std::string>>> late_arguments(const StageOptions& options,
                                                             size_t first) {
  StageOptions chosen = options;
  chosen.semantic.clear();
  chosen.non_semantic.clear();
  SLUICE_ASSIGN(auto stages, early_arguments(chosen, first, kStageNames.size() - 1));
  for (const std::string& argument : options.semantic) {
    const std::string name = argument.substr(2, argument.find('=') - 2);
    const OptionRow* row = find_option(name);
    const bool travels = row->kind == OptionKind::kSemantic;
    const std::string_view reader = travels ? first_reader(name) : kStageNames[0];
    const auto stage =
        static_cast<size_t>(std::ranges::find(kStageNames, reader) - kStageNames.begin());
    stages[std::max(stage, first) - first].push_back(argument);
  }
  return stages;
}

void add_pass_limits(const StageOptions& options, std::vector<std::string>& arguments) {
  const bool has_passes = std::ranges::any_of(
      arguments, [](const std::string& each) { return each.starts_with(kOwnPass); });
  if (has_passes) add_to(arguments, options.own_pass_limits);
}

std::string option_value(const StageOptions& options, const std::string& name) {
  const std::string start = "--" + name + "=";
  for (const std::string& argument : options.semantic)
    if (argument.starts_with(start)) return argument.substr(start.size());
  return {};
}

std::vector<std::string> typed_options(const StageOptions& options) {
  std::vector<std::string> typed = options.semantic;
  add_to(typed, options.non_semantic);
  for (const std::string& list : options.passes) typed.push_back("--passes=" + list);
  for (const std::string& list : options.skip) typed.push_back("--skip=" + list);
  add_to(typed, options.rules);
  add_to(typed, options.own_passes);
  add_to(typed, options.own_pass_limits);
  return typed;
}

}  // namespace sluice
