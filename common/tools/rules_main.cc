#include "common/base/json.h"
#include "common/base/program.h"
#include "common/rules/check_rules.h"
#include "common/rules/explain_rules.h"
#include "common/rules/rule_rows.h"
#include "common/tools/rules_tool.h"
#include "common/tools/tool_main.h"

namespace {

using namespace sluice;

constexpr char kUsage[] = R"(Checks rules, and says where they match in a graph and why they do not.

Usage:
  sluice-rules check [options] <file>...
  sluice-rules (list|why) [options] <file> <in> [<compile-option>...]
  sluice-rules (--help | --version)

check parses each file of rules, and compares pattern and replacement of each rule on drawn inputs.
list prints the places of <in> that rules match. why prints for each rule that matches nothing the
place where its pattern got furthest, and the first condition that failed there.

<in> is a graph, matched as it is, or an ONNX model: then sluice compile brings it to the place of
the file's rules, with the options that follow, such as -- --dim=N=8. docs/own-passes.md has the
notation of rules.

Options:
  --rule=NAME        This rule alone.
  --node=NAME        At this node alone, or the one that makes the value of this name.
  --json             Print JSON.
  -o FILE            Write to FILE [default: -].
)";

Result<std::string> checked_text(const CommandLine& line) {
  std::string text;
  Json files{Json::Array{}};
  for (const std::string& path : line.list("<file>")) {
    SLUICE_TRY(check_output_is_no_input(output_path(line), path));
    SLUICE_ASSIGN(const rules::RuleFile file, rules::read_rule_file(path));
    SLUICE_ASSIGN(const auto checks, rules::check_rules(file));
    for (const rules::RuleCheck& check : checks) {
      text += check.is_definition ? fmt::format("{}: {} defines an operator: nothing to compare\n",
                                                path, check.rule)
                                  : fmt::format("{}: {} computes the same on {} drawn graphs\n",
                                                path, check.rule, check.instances);
      Json row;
      row.set("file", path);
      row.set("rule", check.rule);
      row.set("instances", check.instances);
      files.push(std::move(row));
    }
  }
  return line.flag("--json") ? json_dump(files, 2) + "\n" : text;
}

Result<ExitClass> run(const CommandLine& line) {
  if (line.flag("check")) {
    SLUICE_ASSIGN(const std::string text, checked_text(line));
    SLUICE_TRY(write_tool_text(line, text));
    return ExitClass::kDone;
  }
  const std::string path = line.list("<file>")[0];
  SLUICE_TRY(check_output_is_no_input(output_path(line), path));
  SLUICE_ASSIGN(const rules::RuleFile file, rules::read_rule_file(path));
  SLUICE_ASSIGN(Module module,
                module_at_rules(file, line.text("<in>"), line.list("<compile-option>")));
  const RuleQuestion question{.rule = line.text("--rule"),
                              .node = line.text("--node"),
                              .wants_reasons = line.flag("why"),
                              .is_json = line.flag("--json")};
  SLUICE_ASSIGN(const std::string text, answer_text(module, file, question));
  SLUICE_TRY(write_tool_text(line, text));
  return ExitClass::kDone;
}

}  // namespace

int main(int argc, char** argv) { return tool_main(argc, argv, {"sluice-rules", kUsage, run}); }
