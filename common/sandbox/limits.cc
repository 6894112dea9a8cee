#include "common/sandbox/limits.h"

#include <sys/resource.h>

#include <algorithm>

namespace sluice {
namespace {

// Sanitizers map more than any limit of data.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

bool set_limit(__rlimit_resource resource, uint64_t soft, uint64_t hard) noexcept {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return false;
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, hard);
  limit.rlim_cur = std::min<rlim_t>({limit.rlim_cur, soft, limit.rlim_max});
  return ::setrlimit(resource, &limit) == 0;
}

}  // namespace

// Data, not the address space: a model file of any size may be mapped.
bool limit_memory(uint64_t bytes) noexcept {
  if (kSanitized) return true;
  return bytes == 0 || set_limit(RLIMIT_DATA, bytes, bytes);
}

// The signal of the soft limit can be ignored, that of the hard one a second later cannot.
bool limit_cpu(uint64_t seconds) noexcept {
  return seconds == 0 || set_limit(RLIMIT_CPU, seconds, seconds + 1);
}

bool limit_files(uint64_t bytes) noexcept {
  return bytes == 0 || set_limit(RLIMIT_FSIZE, bytes, bytes);
}

bool limit_descriptors(uint64_t count) noexcept { return set_limit(RLIMIT_NOFILE, count, count); }

bool forbid_core_dumps() noexcept { return set_limit(RLIMIT_CORE, 0, 0); }

}  // namespace sluice
