#include "orchestrator/check/check.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "common/base/json.h"
#include "common/base/program.h"
#include "common/base/scratch_folder.h"
#include "common/base/shell_word.h"
#include "common/base/size_proposal.h"
#include "orchestrator/compile/pipeline.h"
#include "orchestrator/compile/stage_failure.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/process/process.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

constexpr size_t kStagesRun = 3;  // the stages that decide

Result<std::vector<StageRun>> plan(const CheckRequest& request, const std::string& sizes) {
  std::vector<StageRun> runs;
  SLUICE_ASSIGN(const std::vector<std::vector<std::string>> arguments,
                early_arguments(request.options, 0, kStageNames.size() - 1));
  for (size_t i = 0; i <= kStagesRun; ++i) {
    StageRun run;
    run.name = i < kStagesRun ? kStageNames[i] : "show";
    if (i < kStagesRun) {
      run.options = request.options.non_semantic;
      run.options.insert(run.options.end(), arguments[i].begin(), arguments[i].end());
    }
    SLUICE_ASSIGN(run.program, find_program("sluice-" + run.name));
    run.input = "-";
    if (request.quiet) run.options.emplace_back("--quiet");
    if (request.error_json) run.options.push_back("--error-format=json");
    runs.push_back(std::move(run));
  }
  runs.front().input = request.input;
  runs.front().options.push_back("--propose-sizes=" + sizes);
  runs.back().options.insert(runs.back().options.end(),
                             {"--check", "--format=" + request.format, "--sizes=" + sizes});
  return runs;
}

// Returns whether an option bounds a dim of the proposal: "--dim=batch=1..8" for "--dim=batch=1".
bool bounds_one_of(const std::string& option, const SizeProposal& proposal) {
  const std::string name = option.substr(0, option.rfind('='));
  return std::any_of(proposal.dims.begin(), proposal.dims.end(), [&](const std::string& dim) {
    return name == "--dim=" + dim.substr(0, dim.rfind('='));
  });
}

std::string compile_command(const CheckRequest& request, const SizeProposal& proposal) {
  std::string command = "sluice compile";
  for (const std::string& option : typed_options(request.options)) {
    if (!bounds_one_of(option, proposal)) command += " " + shell_word(option);
  }
  const std::string model =
      std::filesystem::path(request.input).filename().replace_extension(".om").string();
  const std::string input = request.input.starts_with("-") ? "./" + request.input : request.input;
  return fmt::format("{} {} -o {} {}", command, dim_options(proposal), shell_word("./" + model),
                     shell_word(input));
}

// Prints the report with the command. Returns the exit code.
Result<int> print_report(const CheckRequest& request, const std::string& report,
                         const std::string& sizes) {
  SLUICE_ASSIGN(const SizeProposal proposal, read_proposal(sizes));
  const std::string command = proposal.dims.empty() ? "" : compile_command(request, proposal);
  if (request.format == "text") {
    return print_text(
        "sluice-check",
        command.empty() ? report : fmt::format("{}to fix the sizes: {}\n", report, command));
  }
  SLUICE_ASSIGN(Json json, json_parse(report));
  json.set("fixing_command", command);
  return print_text("sluice-check", json_dump(json, 2) + "\n");
}

}  // namespace

Result<int> check(const CheckRequest& request) {
  if (request.input == "-") {
    return make_error(ErrorCode::kUsage, "'-' cannot be checked: the model must be a file")
        .with_hint(
            "or pipe the model through sluice-preprocess, sluice-optimize and sluice-partition "
            "into sluice-show --check");
  }
  SLUICE_ASSIGN(const ScratchFolder scratch, ScratchFolder::create());
  const std::string sizes = scratch.file("sizes.json");
  SLUICE_ASSIGN(const std::vector<StageRun> runs, plan(request, sizes));
  int code = 0;
  const auto done = [&](size_t i, const StageReport& report) {
    if (interrupted()) return;
    std::fputs(report.messages.c_str(), stderr);
    if (!report.ending.clean())
      code = report_failure("sluice-check", "sluice-" + runs[i].name, report, request.error_json);
  };
  SLUICE_ASSIGN(const Descriptor shown, make_memory_file());
  SLUICE_TRY(run_pipeline(runs, shown.get(), done));
  if (!interrupted() && code == 0) {
    SLUICE_ASSIGN(code, print_report(request, memory_file_text(shown), sizes));
  }
  return interrupted() ? static_cast<int>(ExitClass::kResource) : code;
}

}  // namespace sluice
