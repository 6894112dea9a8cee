#include "orchestrator/check/check.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "common/base/program.h"
#include "common/base/scratch_folder.h"
#include "common/base/shell_word.h"
#include "common/base/size_proposal.h"
#include "orchestrator/compile/pipeline.h"
#include "orchestrator/compile/stage_failure.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

Result<std::vector<StageRun>> plan(const CheckRequest& request, const std::string& sizes) {
  std::vector<StageRun> runs;
  for (const char* name : {"preprocess", "optimize", "partition", "show"}) {
    StageRun run;
    run.name = name;
    SLUICE_ASSIGN(run.program, find_program("sluice-" + run.name));
    run.input = "-";
    if (request.quiet) run.options.emplace_back("--quiet");
    if (request.error_json) run.options.push_back("--error-format=json");
    runs.push_back(std::move(run));
  }
  runs.front().input = request.input;
  runs.front().options.insert(runs.front().options.end(), request.options.begin(), request.options.end());
  runs.front().options.push_back("--propose-sizes=" + sizes);
  runs.back().options.insert(runs.back().options.end(), {"--check", "--format=" + request.format, "--sizes=" + sizes});
  return runs;
}

// "--dim=batch=1..8" of "--dim=batch=1".
bool bounds_one_of(const std::string& option, const SizeProposal& proposal) {
  const std::string name = option.substr(0, option.rfind('='));
  return std::any_of(proposal.dims.begin(), proposal.dims.end(),
                     [&](const std::string& dim) { return name == "--dim=" + dim.substr(0, dim.rfind('=')); });
}

std::string compile_command(const CheckRequest& request, const SizeProposal& proposal) {
  std::string command = "sluice compile";
  for (const std::string& option : request.options) {
    if (!bounds_one_of(option, proposal)) command += " " + shell_word(option);
  }
  const std::string model = std::filesystem::path(request.input).filename().replace_extension(".om").string();
  const std::string input = request.input.starts_with("-") ? "./" + request.input : request.input;
  return fmt::format("{} {} -o {} {}", command, dim_options(proposal), shell_word("./" + model), shell_word(input));
}

// Answers the exit code.
Result<int> print_command(const CheckRequest& request, const std::string& sizes) {
  if (request.format != "text") return 0;
  SLUICE_ASSIGN(const SizeProposal proposal, read_proposal(sizes));
  if (proposal.dims.empty()) return 0;
  return print_text("sluice-check", fmt::format("compiled with these: {}\n", compile_command(request, proposal)));
}

}  // namespace

Result<int> check(const CheckRequest& request) {
  if (request.input == "-") {
    return make_error(ErrorCode::kUsage, "'-' cannot be checked: the model must be a file")
        .with_hint("or pipe the model through sluice-preprocess, sluice-optimize and sluice-partition into sluice-show --check");
  }
  SLUICE_ASSIGN(const ScratchFolder scratch, ScratchFolder::create());
  const std::string sizes = scratch.file("sizes.json");
  SLUICE_ASSIGN(const std::vector<StageRun> runs, plan(request, sizes));
  int code = 0;
  const auto done = [&](size_t i, const StageReport& report) {
    if (interrupted()) return;
    std::fputs(report.messages.c_str(), stderr);
    const bool shows = i + 1 == runs.size();
    const bool reader_gone = shows && report.ending.code == static_cast<int>(ExitClass::kResource) && report.messages.empty();
    if (report.ending.clean()) return;
    code = report.ending.code;  // also when the reader of our output has gone, of which there is nothing to tell
    if (!reader_gone) code = tell_failure("sluice-check", "sluice-" + runs[i].name, report, request.error_json);
  };
  SLUICE_TRY(run_pipeline(runs, STDOUT_FILENO, done));
  if (!interrupted() && code == 0) {
    SLUICE_ASSIGN(code, print_command(request, sizes));
  }
  return interrupted() ? static_cast<int>(ExitClass::kResource) : code;
}

}  // namespace sluice
