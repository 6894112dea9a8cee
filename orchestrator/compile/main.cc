#include <unistd.h>

#include "common/base/command_line.h"
#include "common/base/memory.h"
#include "common/base/program.h"
#include "orchestrator/compile/arguments.h"
#include "orchestrator/compile/usage.h"
#include "orchestrator/process/process.h"
#include "orchestrator/report.h"

namespace {

using sluice::CommandLine;
using sluice::ErrorCode;

sluice::Result<int> run(int argc, char** argv, bool& error_json) {
  const std::string usage = sluice::compile_usage();
  SLUICE_ASSIGN(const CommandLine line, CommandLine::parse(usage, argc, argv));
  if (const auto answered = sluice::answer_request(line, "sluice-compile", usage)) return *answered;
  if (line.text("-o") == "-" && isatty(STDOUT_FILENO)) {
    return make_error(ErrorCode::kUsage, "a compiled model is not written to a terminal")
        .with_hint("name a file with -o FILE");
  }
  error_json = line.text("--error-format") == "json";
  SLUICE_ASSIGN(const sluice::CompileRequest request, sluice::request_from(line));
  return sluice::compile(request);
}

}  // namespace

int main(int argc, char** argv) {
  sluice::begin_program();
  sluice::catch_interrupts();
  bool error_json = false;
  const sluice::Result<int> result =
      sluice::program_within_memory([&] { return run(argc, argv, error_json); });
  sluice::finish_interrupt();
  return sluice::exit_code_of("sluice-compile", result, error_json);
}
