// Limits that the compiler keeps and a loader checks.
#pragma once

#include <cstdint>

namespace sluice {

// Bytes of scratch for each worker of a kernel; a profile may set fewer.
inline constexpr uint64_t kScratchLimit = 1 << 20;
inline constexpr uint32_t kBlockLimit = 1 << 20;  // blocks per launch

}  // namespace sluice
