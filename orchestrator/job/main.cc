#include "orchestrator/compile/sandbox.h"
#include "orchestrator/job/job.h"
#include "orchestrator/job/usage.h"
#include "orchestrator/program_main.h"

namespace {

using namespace sluice;

Result<int> run(const CommandLine& line) {
  JobRequest request{.store = line.text("--store"),
                     .keys = {},
                     .remote = {},
                     .threads = line.text("--threads"),
                     .quiet = line.flag("--quiet")};
  SLUICE_ASSIGN(request.keys, read_keys(line.list("<key>"), line.text("--keys")));
  request.allows_passes = line.flag("--allow-passes");
  SLUICE_ASSIGN(request.sandbox, sandbox_asked_for(line));
  if (line.has("--remote")) {
    SLUICE_ASSIGN(request.remote, parse_remote_url(line.text("--remote")));
  }
  return run_jobs(request);
}

}  // namespace

int main(int argc, char** argv) {
  return program_main(argc, argv, {"sluice-job", [] { return std::string(kJobUsage); }, run});
}
