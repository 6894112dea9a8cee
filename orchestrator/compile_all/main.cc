#include "common/base/command_line.h"
#include "common/base/memory.h"
#include "common/base/program.h"
#include "orchestrator/compile_all/arguments.h"
#include "orchestrator/compile_all/compile_all.h"
#include "orchestrator/compile_all/usage.h"
#include "orchestrator/process/process.h"
#include "orchestrator/report.h"

namespace {

using namespace sluice;

Result<int> run(int argc, char** argv, bool& error_json) {
  SLUICE_ASSIGN(const CommandLine line, CommandLine::parse(kCompileAllUsage, argc, argv));
  if (const auto answered = answer_request(line, "sluice-compile-all", kCompileAllUsage))
    return *answered;
  error_json = line.text("--error-format") == "json";
  SLUICE_ASSIGN(const CompileAllRequest request, compile_all_request(line));
  return compile_all(request);
}

}  // namespace

int main(int argc, char** argv) {
  begin_program();
  catch_interrupts();
  bool error_json = false;
  const Result<int> result = program_within_memory([&] { return run(argc, argv, error_json); });
  finish_interrupt();
  return exit_code_of("sluice-compile-all", result, error_json);
}
