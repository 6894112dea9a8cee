#include "common/base/command_line.h"
#include "common/base/memory.h"
#include "common/base/program.h"
#include "orchestrator/compile/sandbox.h"
#include "orchestrator/job/job.h"
#include "orchestrator/job/usage.h"
#include "orchestrator/process/process.h"
#include "orchestrator/report.h"

namespace {

using sluice::CommandLine;

sluice::Result<int> run(int argc, char** argv) {
  SLUICE_ASSIGN(const CommandLine line, CommandLine::parse(sluice::kJobUsage, argc, argv));
  if (const auto answered = sluice::answer_request(line, "sluice-job", sluice::kJobUsage))
    return *answered;
  sluice::JobRequest request{.store = line.text("--store"),
                             .keys = {},
                             .remote = {},
                             .threads = line.text("--threads"),
                             .quiet = line.flag("--quiet")};
  SLUICE_ASSIGN(request.keys, sluice::read_keys(line.list("<key>"), line.text("--keys")));
  SLUICE_ASSIGN(request.sandbox, sluice::sandbox_asked_for(line));
  if (line.has("--remote")) {
    SLUICE_ASSIGN(request.remote, sluice::parse_remote_url(line.text("--remote")));
  }
  return sluice::run_jobs(request);
}

}  // namespace

int main(int argc, char** argv) {
  sluice::begin_program();
  sluice::catch_interrupts();
  const sluice::Result<int> result = sluice::program_within_memory([&] { return run(argc, argv); });
  sluice::finish_interrupt();
  return sluice::exit_code_of("sluice-job", result);
}
