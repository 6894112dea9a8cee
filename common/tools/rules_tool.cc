#include "common/tools/rules_tool.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <map>

#include "common/base/file_kind.h"
#include "common/base/files.h"
#include "common/base/json.h"
#include "common/base/scratch_folder.h"
#include "common/graphfile/graphfile.h"
#include "common/rules/apply_rules.h"
#include "common/rules/explain_rules.h"
#include "common/rules/places.h"
#include "common/tools/reduce/command.h"
#include "common/verify/verify.h"

namespace sluice {
namespace {

constexpr double kCompileSeconds = 3600;

// The program beside this one, or the one in PATH.
std::string compile_program() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string_view own(path, length < 0 ? 0 : static_cast<size_t>(length));
  const std::string beside = std::string(own.substr(0, own.rfind('/') + 1)) + "sluice-compile";
  return access(beside.c_str(), X_OK) == 0 ? beside : "sluice-compile";
}

// Lines of another program are shown below a sentence.
std::string indented(const std::string& text) {
  std::string lines = "  ";
  for (const char c : text.substr(0, text.find_last_not_of('\n') + 1)) {
    lines += c;
    if (c == '\n') lines += "  ";
  }
  return lines;
}

Result<Module> compiled_to(const rules::RuleFile& file, const std::string& path,
                           const std::vector<std::string>& options) {
  SLUICE_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
  const std::string graph = folder.file("graph.sg");
  std::vector<std::string> command = {compile_program()};
  std::ranges::copy_if(options, std::back_inserter(command),
                       [](const std::string& option) { return option != "--"; });
  command.insert(command.end(), {"--quiet",
                                 fmt::format("--stop-after={}:{}", rules::stage_of(file),
                                             rules::pass_before(file)),
                                 "--rules=" + file.path, "--unchecked-rules", "-o", graph, path});
  catch_interrupts();
  SLUICE_ASSIGN(const Ending ending, run_command(command, kCompileSeconds));
  if (ending.code != 0 || ending.signal != 0 || ending.timed_out) {
    return make_error(ErrorCode::kStageFailed,
                      "the model cannot be brought to the rules of {}:\n{}", file.name,
                      indented(ending.output))
        .with_hint("give a graph that was stopped before, or options of sluice compile after --");
  }
  return read_graph_file(graph);
}

bool has_node(const Module& module, const std::string& name) {
  for (GraphId id = 0; id < module.graph_limit(); ++id) {
    if (!module.has_graph(id)) continue;
    for (const Node& node : module.graph(id).nodes()) {
      if (node.name() == name) return true;
      for (size_t i = 0; i < node.output_count(); ++i)
        if (node.output(i).name() == name) return true;
    }
  }
  return false;
}

// Why the first match of each rule that is not replaced is not, by rule: what a run on this graph,
// which is not needed afterwards, says.
std::map<std::string, std::string> obstacles_of(Module& module, const rules::RuleFile& file) {
  std::vector<RuleCount> counts;
  std::map<std::string, std::string> obstacles;
  const auto applied = rules::apply_rules(module.root(), file, counts);
  for (const RuleCount& count : counts)
    if (!count.obstacle.empty()) obstacles[count.rule] = count.obstacle;
  if (!applied && obstacles.empty() && file.rules.size() == 1)
    obstacles[file.rules[0].name] = applied.error().message;
  return obstacles;
}

std::string finding_text(const rules::RuleFinding& finding, const std::string& obstacle,
                         bool wants_reasons) {
  std::string text = fmt::format("{}: {} match{}\n", finding.rule, finding.matches.size(),
                                 finding.matches.size() == 1 ? "" : "es");
  for (const std::string& match : finding.matches) text += fmt::format("  {}\n", match);
  if (!obstacle.empty()) text += fmt::format("  not replaced: {}\n", obstacle);
  if (!wants_reasons || !finding.matches.empty()) return text;
  if (finding.reason.empty()) return text + "  there is no node with an op of its pattern\n";
  return text + fmt::format("  nearest: {} of {} lines at {}\n  {}\n", finding.placed,
                            finding.lines, finding.node.empty() ? "no node" : finding.node,
                            finding.reason);
}

Json finding_json(const rules::RuleFinding& finding, const std::string& obstacle,
                  bool wants_reasons) {
  Json json;
  json.set("rule", finding.rule);
  Json matches{Json::Array{}};
  for (const std::string& match : finding.matches) matches.push(match);
  json.set("matches", std::move(matches));
  if (!obstacle.empty()) json.set("obstacle", obstacle);
  if (!wants_reasons || !finding.matches.empty() || finding.reason.empty()) return json;
  json.set("placed", finding.placed);
  json.set("lines", finding.lines);
  json.set("node", finding.node);
  json.set("reason", finding.reason);
  return json;
}

}  // namespace

Result<Module> module_at_rules(const rules::RuleFile& file, const std::string& path,
                               const std::vector<std::string>& options) {
  SLUICE_ASSIGN(const MappedFile map, MappedFile::open(path));
  if (file_kind(map.bytes()) != FileKind::kGraph) return compiled_to(file, path, options);
  SLUICE_ASSIGN(Module module, read_graph_file(path));
  SLUICE_TRY(verify(module, module.level));
  return module;
}

Result<std::string> answer_text(Module& module, const rules::RuleFile& file,
                                const RuleQuestion& question) {
  if (!question.rule.empty() &&
      std::ranges::find(file.rules, question.rule, &rules::Rule::name) == file.rules.end()) {
    std::string names;
    for (const rules::Rule& rule : file.rules) names += (names.empty() ? "" : ", ") + rule.name;
    return make_error(ErrorCode::kBadOption, "--rule is '{}', and {} has {}", question.rule,
                      file.name, names);
  }
  if (!question.node.empty() && !has_node(module, question.node)) {
    return make_error(ErrorCode::kBadOption,
                      "--node is '{}', and no node and no value of a node has this name",
                      question.node)
        .with_hint("sluice show prints the graph");
  }
  const auto findings = rules::explain_rules(module.root(), file, question.rule, question.node);
  const bool has_matches = std::ranges::any_of(
      findings, [](const rules::RuleFinding& finding) { return !finding.matches.empty(); });
  std::map<std::string, std::string> obstacles;
  if (has_matches) obstacles = obstacles_of(module, file);
  std::string text;
  Json rows{Json::Array{}};
  for (const rules::RuleFinding& finding : findings) {
    const std::string obstacle = finding.matches.empty() ? "" : obstacles[finding.rule];
    text += finding_text(finding, obstacle, question.wants_reasons);
    rows.push(finding_json(finding, obstacle, question.wants_reasons));
  }
  return question.is_json ? json_dump(rows, 2) + "\n" : text;
}

}  // namespace sluice
