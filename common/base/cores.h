// The number of cores that this process may use. Its affinity and the quotas of its control groups
// can make it smaller than the number of the machine.
#pragma once

#include <cstdint>
#include <string>

namespace sluice {

// Returns at least 1. Each call asks the system anew, which takes a few system calls.
int64_t usable_cores();

// Returns the cores that control groups (v1: cpu.cfs_quota_us, v2: cpu.max) leave to the process:
// the tightest quota between its group and the root, rounded down, at least 1; 0 when there is no
// quota. root is the folder that contains proc/self/cgroup, proc/self/mountinfo and the mounted
// folders ("/"). Text that cannot be parsed counts as no quota.
int64_t quota_cores(const std::string& root);

}  // namespace sluice
