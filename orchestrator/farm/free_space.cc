#include "orchestrator/farm/free_space.h"

#include <sys/statvfs.h>

#include "orchestrator/store/collect.h"

namespace sluice {
namespace {

constexpr uint64_t kShare = 20;  // of the file system is space enough

bool is_full(const std::string& folder) {
  struct statvfs status{};
  return ::statvfs(folder.c_str(), &status) == 0 && status.f_bavail < status.f_blocks / kShare;
}

}  // namespace

bool free_space(const std::string& store, const FarmLog& log) {
  if (!is_full(store)) return false;
  const auto found =
      collect(store, {.max_bytes = 0, .goal_bytes = 0, .older_than = {}, .is_trial = true});
  if (!found) return false;
  const uint64_t bytes = found->deleted.bytes + found->left.bytes;
  const auto done = collect(store, {.max_bytes = 0, .goal_bytes = bytes / 2, .older_than = {}});
  if (!done) {
    log.warn("store full", {{"store", store}, {"why", done.error().message}});
    return false;
  }
  log.warn("store full",
           {{"store", store}, {"deleted_bytes", fmt::format("{}", done->deleted.bytes)}});
  return done->deleted.bytes > 0;
}

}  // namespace sluice
