#include "orchestrator/check/check.h"

#include <unistd.h>

#include <cstdio>

#include "orchestrator/compile/pipeline.h"
#include "orchestrator/compile/stage_failure.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

Result<std::vector<StageRun>> plan(const CheckRequest& request) {
  std::vector<StageRun> runs;
  for (const char* name : {"preprocess", "optimize", "partition", "show"}) {
    StageRun run;
    run.name = name;
    SLUICE_ASSIGN(run.program, find_program("sluice-" + run.name));
    run.input = "-";
    if (request.error_json) run.options.push_back("--error-format=json");
    runs.push_back(std::move(run));
  }
  runs.front().input = request.input;
  runs.front().options.insert(runs.front().options.end(), request.options.begin(), request.options.end());
  runs.back().options.insert(runs.back().options.end(), {"--check", "--format=" + request.format});
  return runs;
}

}  // namespace

Result<int> check(const CheckRequest& request) {
  if (request.input == "-") {
    return make_error(ErrorCode::kUsage, "'-' cannot be checked: the model must be a file")
        .with_hint("or pipe the model through sluice-preprocess, sluice-optimize and sluice-partition into sluice-show --check");
  }
  SLUICE_ASSIGN(const std::vector<StageRun> runs, plan(request));
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
  return interrupted() ? static_cast<int>(ExitClass::kResource) : code;
}

}  // namespace sluice
