#include "orchestrator/bisect/stage_graphs.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "common/base/files.h"
#include "common/graphfile/header.h"
#include "common/rules/rule_parser.h"
#include "orchestrator/bisect/json_members.h"
#include "orchestrator/compile/plan.h"

namespace sluice {
namespace {

constexpr size_t kBuild = kStageNames.size() - 1;
constexpr std::string_view kPasses = "--passes=";
constexpr std::string_view kRules = "--rules=";
constexpr std::string_view kUnchecked = "--unchecked-rules";
constexpr uint8_t kScheduled = 4;  // the level of a graph after the last pass

struct PassesOfGraph {
  std::vector<std::string> names;  // empty for a graph at the end of a stage
  size_t done = 0;
};

Result<PassesOfGraph> passes_of(const std::string& graph) {
  SLUICE_ASSIGN(const ChildResult shown, run_child("show", {"--format=json", graph}));
  if (shown.error) return *shown.error;
  SLUICE_ASSIGN(const Json json, json_parse(shown.output));
  PassesOfGraph passes;
  for (const Json& name : list_in(json, "passes")) passes.names.push_back(*name.as_string());
  if (const Json* done = json.find("passes_done"))
    passes.done = static_cast<size_t>(*done->as_int());
  return passes;
}

}  // namespace

std::string plain_name(const std::string& pass) { return pass.substr(0, pass.find('@')); }

std::string StageGraphs::file(size_t stage, const std::string& name) const {
  return fmt::format("{}/{}-{}", folder_, stage + 1, name);
}

Result<void> StageGraphs::begin() {
  CompileRequest compile;
  compile.input = request_.input;
  compile.options = request_.options;
  SLUICE_ASSIGN(const CompileSteps steps, steps_of(compile));
  first_ = steps.first;
  SLUICE_ASSIGN(arguments_, early_arguments(request_.options, first_, kBuild));
  SLUICE_TRY(look_into_input());
  SLUICE_TRY(check_rules());
  files_[first_][passes_done_] = request_.input;
  return {};
}

// Rules that are wrong by themselves are an error of the command line, and no finding.
Result<void> StageGraphs::check_rules() const {
  const std::vector<std::string>& options = request_.options.rules;
  const bool is_unchecked = std::ranges::find(options, kUnchecked) != options.end();
  for (const std::string& option : options) {
    if (!option.starts_with(kRules)) continue;
    const std::string path = option.substr(kRules.size());
    SLUICE_ASSIGN(const std::string text, read_text(path));
    SLUICE_TRY(rules::parse_rules(text, path));
    if (is_unchecked) continue;
    SLUICE_ASSIGN(ChildResult checked, run_child("rules", {"check", path}));
    if (checked.error) return *std::move(checked.error);
  }
  return {};
}

Result<void> StageGraphs::look_into_input() {
  SLUICE_ASSIGN(const MappedFile input, MappedFile::open(request_.input));
  begins_with_model_ = !is_graph_file(input.bytes());
  if (begins_with_model_) return {};
  SLUICE_ASSIGN(const GraphHeader header, parse_graph_header(input.bytes()));
  is_complete_ = header.level == kScheduled && !header.mid_stage;
  if (!header.mid_stage) return {};
  SLUICE_ASSIGN(PassesOfGraph found, passes_of(request_.input));
  passes_[first_] = std::move(found.names);
  passes_done_ = found.done;
  return {};
}

Result<std::optional<Error>> StageGraphs::run_stage(size_t stage, const std::string& input,
                                                    const std::string& output,
                                                    const std::string& stop) {
  std::vector<std::string> options = request_.options.non_semantic;
  const std::vector<std::string>& own = arguments_[stage - first_];
  options.insert(options.end(), own.begin(), own.end());
  add_pass_limits(request_.options, options);
  if (!stop.empty()) options.push_back("--stop-after=" + stop);
  if (!request_.store.empty()) options.push_back("--store=" + request_.store);
  if (!request_.model.empty() && (stage > 0 || !begins_with_model_))
    options.push_back("--model=" + request_.model);
  options.insert(options.end(), {"--stats=" + file(stage, "stats.json"), "-o", output, input});
  SLUICE_ASSIGN(ChildResult run, run_child(std::string(kStageNames[stage]), std::move(options)));
  if (run.error && !is_about_work(*run.error)) return *std::move(run.error);
  return std::move(run.error);
}

Result<std::optional<Error>> StageGraphs::make(GraphPoint point) {
  auto& files = files_[point.stage];
  const auto after = files.upper_bound(point.passes);
  const auto& [passes, nearest] = *std::prev(after);
  if (passes == point.passes) return std::optional<Error>();
  const std::string output = file(point.stage, fmt::format("{}.sg", point.passes));
  SLUICE_ASSIGN(auto error, run_stage(point.stage, nearest, output, std::to_string(point.passes)));
  if (!error) files[point.passes] = output;
  return error;
}

// The last stage, which would write a compiled model, stops after its last pass.
Result<std::optional<Error>> StageGraphs::make_end(size_t stage) {
  if (stage > first_) files_[stage][0] = ends_[stage - 1];
  std::string last;
  if (stage == kBuild) {
    SLUICE_ASSIGN(auto failed, read_passes(stage));
    if (failed) return failed;
    last = std::to_string(passes_[stage].size());
  }
  const std::string output = file(stage, "end.sg");
  SLUICE_ASSIGN(auto failed, run_stage(stage, files_[stage].begin()->second, output, last));
  if (failed) return failed;
  ends_[stage] = output;
  if (stage == kBuild) files_[stage][passes_[stage].size()] = output;
  SLUICE_ASSIGN(reports_[stage], reports(stage));
  return failed;
}

// A graph within a stage knows the passes of the stage, one at its end does not.
Result<std::optional<Error>> StageGraphs::read_passes(size_t stage) {
  std::vector<std::string>& names = passes_[stage];
  if (!names.empty()) return std::optional<Error>();
  const GraphPoint first{stage, 1};
  SLUICE_ASSIGN(auto failed, make(first));
  if (failed) {
    SLUICE_ASSIGN(const std::string name, first_pass(stage));
    names = {name};
    return failed;
  }
  SLUICE_ASSIGN(PassesOfGraph found, passes_of(path(first)));
  names = std::move(found.names);
  if (!names.empty()) return failed;
  SLUICE_ASSIGN(const Json::Array all, reports(stage));
  names = {all.empty() ? std::string() : text_in(all.back(), "name")};
  return failed;
}

// Returns what the last run of a stage says of its passes, and of other work between them.
Result<Json::Array> StageGraphs::reports(size_t stage) const {
  SLUICE_ASSIGN(const std::string text, read_text(file(stage, "stats.json")));
  SLUICE_ASSIGN(const Json json, json_parse(text));
  return list_in(json, "passes");
}

const Json* StageGraphs::report_of(GraphPoint point) const {
  const std::string name = plain_name(passes_[point.stage][point.passes - 1]);
  for (const Json& report : reports_[point.stage]) {
    if (text_in(report, "name") == name) return &report;
  }
  return nullptr;
}

std::vector<std::string> StageGraphs::applied_rules(GraphPoint point) const {
  std::vector<std::string> applied;
  const Json* report = report_of(point);
  if (report == nullptr || report->find("rules") == nullptr) return applied;
  for (const Json& rule : list_in(*report, "rules")) {
    const Json* times = rule.find("effect_times");
    if (times != nullptr && *times->as_int() > 0) applied.push_back(text_in(rule, "rule"));
  }
  return applied;
}

Result<std::string> StageGraphs::make_up_to_rule(GraphPoint point, const std::string& rule) {
  const std::string name = plain_name(passes_[point.stage][point.passes - 1]);
  const std::string folder = file(point.stage, "rules." + rule);
  SLUICE_TRY(make_directories(folder));
  std::vector<std::string>& own = arguments_[point.stage - first_];
  const std::vector<std::string> before = own;
  for (std::string& argument : own) {
    const std::string path = argument.substr(std::min(kRules.size(), argument.size()));
    if (!argument.starts_with(kRules) || path.substr(path.find_last_of('/') + 1) != name) continue;
    SLUICE_ASSIGN(const std::string text, read_text(path));
    SLUICE_ASSIGN(const rules::RuleFile parsed, rules::parse_rules(text, path));
    auto next = std::ranges::find(parsed.rules, rule, &rules::Rule::name);
    if (next != parsed.rules.end()) ++next;
    const size_t end = next == parsed.rules.end() ? text.size() : next->offset;
    SLUICE_TRY(write_text(folder + "/" + name, text.substr(0, end)));
    argument = std::string(kRules) + folder + "/" + name;
  }
  const std::string output = folder + "/graph.sg";
  SLUICE_ASSIGN(auto failed,
                run_stage(point.stage, files_[point.stage].begin()->second, output, name));
  own = before;
  if (failed) return *std::move(failed);
  return output;
}

std::vector<bool> StageGraphs::changes(size_t stage) const {
  const std::vector<std::string>& names = passes_[stage];
  std::vector<bool> changes(names.size(), true);
  size_t next = passes_before(stage);
  for (const Json& report : reports_[stage]) {
    if (next == names.size() || text_in(report, "name") != plain_name(names[next])) continue;
    const Json* changed = report.find("changed");
    changes[next++] = changed == nullptr || changed->as_bool() == nullptr || *changed->as_bool();
  }
  return changes;
}

Result<std::string> StageGraphs::first_pass(size_t stage) const {
  std::string skipped = ",";
  for (const std::string& argument : arguments_[stage - first_]) {
    if (argument.starts_with(kPasses))
      return argument.substr(kPasses.size(), argument.find(',') - kPasses.size());
    if (argument.starts_with("--skip=")) skipped += argument.substr(argument.find('=') + 1) + ",";
  }
  SLUICE_ASSIGN(const ChildResult list,
                run_child(std::string(kStageNames[stage]), {"--list-passes"}, ErrorsAs::kText));
  const std::string& lines = list.output;
  for (size_t begin = 0, end = 0; begin < lines.size(); begin = end + 1) {
    end = std::min(lines.find('\n', begin), lines.size());
    const std::string name = lines.substr(begin, std::min(lines.find(' ', begin), end) - begin);
    if (skipped.find("," + name + ",") == std::string::npos) return name;
  }
  return std::string("the first pass");
}

}  // namespace sluice
