#include "orchestrator/compile/to_onnx.h"

#include <unistd.h>

#include "common/base/program.h"
#include "common/base/scratch_folder.h"
#include "orchestrator/compile/plan.h"
#include "orchestrator/compile/stage_failure.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

constexpr size_t kLastTypedStage = 1;  // optimize, an index of kStageNames

Result<void> check_request(const CompileRequest& request) {
  if (request.stop_after.empty()) {
    return make_error(ErrorCode::kUsage,
                      "--format=onnx is for a graph, and a compile ends with none")
        .with_hint("--stop-after=optimize writes the optimized graph");
  }
  SLUICE_ASSIGN(const CompileSteps steps, steps_of(request));
  if (steps.last > kLastTypedStage) {
    return make_error(
               ErrorCode::kUsage,
               "--format=onnx is for the graph of a stage up to optimize, --stop-after is '{}'",
               request.stop_after)
        .with_hint("--stop-after=optimize writes the optimized graph");
  }
  if (request.sandbox) {
    return make_error(ErrorCode::kUsage, "--format=onnx reads weights outside of a sandbox")
        .with_hint("without it, sluice-show --format=onnx --with-weights writes the model");
  }
  return check_output_is_no_input(request.output, request.input);
}

// Runs sluice-show, whose messages and output are those of this program. Returns its exit code.
Result<int> show(const CompileRequest& request, const std::string& graph) {
  SLUICE_ASSIGN(const std::string program, find_program("sluice-show"));
  std::vector<std::string> command = {program, "--format=onnx", "--with-weights", "-o",
                                      request.output};
  if (request.quiet) command.emplace_back("--quiet");
  if (request.error_json) command.emplace_back("--error-format=json");
  if (!request.store.empty()) command.push_back("--store=" + request.store);
  if (!request.model.empty()) command.push_back("--model=" + request.model);
  command.push_back(graph);
  SLUICE_ASSIGN(const pid_t child, start_process(command, {-1, STDOUT_FILENO, STDERR_FILENO}));
  StageReport report{.ending = wait_for(child)};
  if (interrupted()) return static_cast<int>(ExitClass::kResource);
  if (report.ending.clean()) return 0;
  report.messages = "printed";
  return report_failure("sluice-compile", "sluice-show", report, request.error_json);
}

}  // namespace

Result<int> compile_to_onnx(const CompileRequest& request) {
  SLUICE_TRY(check_request(request));
  SLUICE_ASSIGN(const ScratchFolder scratch, ScratchFolder::create());
  CompileRequest to_graph = request;
  to_graph.output = scratch.file("typed.sg");
  to_graph.format = GraphFormat::kGraphFile;
  SLUICE_ASSIGN(const int code, compile(to_graph));
  if (code != 0 || request.shows_plan) return code;
  return show(request, to_graph.output);
}

}  // namespace sluice
