// Resource limits of a process.
#pragma once

#include <cstdint>

namespace sluice {

// Never raises a limit. 0: the limit stays. Is safe in a signal handler; returns false when a limit
// cannot be set.
bool limit_memory(uint64_t bytes) noexcept;
bool limit_cpu(uint64_t seconds) noexcept;
bool limit_files(uint64_t bytes) noexcept;
bool limit_descriptors(uint64_t count) noexcept;
bool forbid_core_dumps() noexcept;

}  // namespace sluice
