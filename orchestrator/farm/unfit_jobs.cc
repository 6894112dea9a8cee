#include "orchestrator/farm/unfit_jobs.h"

#include <algorithm>

#include "fmt/format.h"

namespace sluice {
namespace {

constexpr std::chrono::seconds kUnfitPatience{3};

bool fits_one(const std::string& needs, const FarmWorkers& workers) {
  return std::ranges::any_of(workers.all(), [&](const auto& entry) {
    return entry.second.takes_jobs() &&
           can_run(entry.second.beat, needs, entry.second.beat.memory_bytes());
  });
}

}  // namespace

std::string why_unfit(const std::string& needs, const FarmWorkers& workers) {
  if (fits_one(needs, workers)) return {};
  if (workers.all().empty()) return "no worker is connected";
  if (!fits_one({}, workers)) return "no worker takes jobs: they drain, or are excluded or gone";
  for (size_t begin = 0, end = 0; begin < needs.size(); begin = end + 1) {
    end = needs.find('\n', begin);
    const std::string need = needs.substr(begin, end - begin);
    if (fits_one(need + "\n", workers)) continue;
    if (need.starts_with(kProfileNeed))
      return fmt::format("no worker has the profile '{}'", need.substr(kProfileNeed.size()));
    if (need == kPassesNeed)
      return "no worker takes passes of users: none was started with --allow-passes";
    return fmt::format("no worker has the sluice-{} of the client, but another build of it",
                       need.substr(0, need.find(' ')));
  }
  return "no worker has both the programs of the client and its profile";
}

void UnfitJobs::look(const ReadyQueue& queue, const FarmWorkers& workers,
                     FarmClock::time_point now) {
  std::map<std::string, Group> found;
  queue.for_each([&](const std::string& owner, const std::string& needs, size_t jobs) {
    const std::string why = why_unfit(needs, workers);
    if (why.empty()) return;
    Group& group = found[owner];
    if (group.jobs == 0) group.why = why;
    group.jobs += jobs;
  });
  for (auto& [owner, group] : found) {
    const auto before = by_owner_.find(owner);
    const bool is_same = before != by_owner_.end() && before->second.why == group.why;
    group.since = is_same ? before->second.since : now;
    group.is_reported = now - group.since >= kUnfitPatience;
    if (group.is_reported && !(is_same && before->second.is_reported))
      log_.warn("jobs fit no worker",
                {{"client", owner}, {"jobs", fmt::format("{}", group.jobs)}, {"why", group.why}});
  }
  by_owner_ = std::move(found);
}

}  // namespace sluice
