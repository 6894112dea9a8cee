#include "common/base/command_line.h"
#include "common/base/memory.h"
#include "common/base/program.h"
#include "orchestrator/compile/sandbox.h"
#include "orchestrator/job/job.h"
#include "orchestrator/process/process.h"
#include "orchestrator/report.h"

namespace {

using sluice::CommandLine;

constexpr char kUsage[] =
    R"(Runs compiles that sluice compile-all has written down in a store. A job may be run twice, at
the same time or after it was killed: its product is the same, and appears in the store when it is
whole.

Usage:
  sluice-job [options] --store=DIR [<key>...]
  sluice-job (--help | --version)

Options:
  --store=DIR   The store, which every machine that runs jobs shares.
  --keys=FILE   Run also the jobs of these keys, one in a line.
  --remote=URL  A second store behind it, over http:// or https://. What DIR lacks is taken from
                there, and what jobs made is sent there; docs/farm.md.
  --threads=N   Worker threads of each stage; 0 means one per usable core.
  --sandbox     Run each stage in a sandbox; docs/security.md. A limit asks for it, too.
  --sandbox-memory=N      Most bytes of memory of a stage; those of the machine unless said
                          otherwise.
  --sandbox-seconds=N     Most seconds of processor time of a stage; 3600 unless said otherwise.
  --sandbox-file-bytes=N  Most bytes of a file that a stage writes; 16 GiB unless said otherwise.
  -q, --quiet   Errors alone.
  --help        Print this.
  --version     Print the release.

Prints a line for each job: found, made or failed. Ends with the exit code of the first that failed.
)";

sluice::Result<int> run(int argc, char** argv) {
  SLUICE_ASSIGN(const CommandLine line, CommandLine::parse(kUsage, argc, argv));
  if (const auto answered = sluice::answer_wish(line, "sluice-job", kUsage)) return *answered;
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
