#include <atomic>

#include "common/base/parallel.h"
#include "orchestrator/compile_all/provider.h"
#include "orchestrator/process/process.h"
#include "orchestrator/process/programs.h"

namespace sluice {

Result<void> run_locally(const LocalProvider& provider, const Store& store,
                         const std::vector<Digest>& keys, const JobEvents& events) {
  SLUICE_ASSIGN(const std::string program, find_program("sluice-job"));
  std::atomic<bool> stopped = false;
  return parallel_for(keys.size(), provider.jobs, [&](size_t i) -> Result<void> {
    if (stopped || interrupted()) return {};
    events.began(keys[i]);
    std::vector<std::string> command = {program, "--store=" + store.path(),
                                        fmt::format("--threads={}", provider.threads),
                                        digest_hex(keys[i])};
    if (!provider.remote.base.empty())
      command.push_back("--remote=" + provider.remote.with_login());
    // What a job has to say is in the store.
    SLUICE_ASSIGN(const pid_t child, start_process(command, {}));
    wait_for(child);
    if (!interrupted() && !events.ended(keys[i])) stopped = true;
    return {};
  });
}

}  // namespace sluice
