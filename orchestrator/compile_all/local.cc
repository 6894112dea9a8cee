#include <atomic>

#include "common/base/parallel.h"
#include "orchestrator/compile_all/provider.h"
#include "orchestrator/process/process.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

// Returns the warning of a job, if there is one. All else that it has to say is in the store.
std::string warning_of(const Descriptor& errors) {
  constexpr std::string_view kStart = "sluice-job: warning ";
  const std::string text = memory_file_text(errors);
  const size_t start = text.find(kStart);
  if (start == std::string::npos) return {};
  const size_t begin = start + kStart.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

Result<void> run_locally(const LocalProvider& provider, const Store& store,
                         const std::vector<Digest>& keys, const JobEvents& events) {
  SLUICE_ASSIGN(const std::string program, find_program("sluice-job"));
  std::atomic<bool> stopped = false;
  return parallel_for(keys.size(), provider.jobs, [&](size_t i) -> Result<void> {
    if (stopped || interrupted()) return {};
    events.began(keys[i]);
    std::vector<std::string> command = {program, "--store=" + store.path(),
                                        fmt::format("--threads={}", provider.threads),
                                        "--allow-passes", digest_hex(keys[i])};
    if (!provider.remote.base.empty())
      command.push_back("--remote=" + provider.remote.with_login());
    SLUICE_ASSIGN(const Descriptor errors, make_memory_file());
    SLUICE_ASSIGN(const pid_t child, start_process(command, {-1, -1, errors.get()}));
    wait_for(child);
    const std::string warning = warning_of(errors);
    if (!warning.empty()) events.warned(warning);
    if (!interrupted() && !events.ended(keys[i])) stopped = true;
    return {};
  });
}

}  // namespace sluice
