// How many cores this process may use, which may be fewer than the machine has: its affinity and
// the quotas of its control groups say so.
#pragma once

#include <cstdint>
#include <string>

namespace sluice {

// At least 1. Read anew at each call: it takes a few system calls.
int64_t usable_cores();

// What control groups (v1: cpu.cfs_quota_us, v2: cpu.max) leave of a processor's time, the whole of
// the tightest quota between the process and the root, in cores rounded down, at least 1; 0 when
// there is none. root: the folder that has proc/self/cgroup, proc/self/mountinfo and what is
// mounted ("/"). Text that cannot be understood is no quota.
int64_t quota_cores(const std::string& root);

}  // namespace sluice
