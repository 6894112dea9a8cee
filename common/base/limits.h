// Limits that the compiler keeps to and that a loader checks.
#pragma once

#include <cstdint>

namespace sluice {

inline constexpr uint64_t kScratchLimit =
    1 << 20;  // bytes of scratch that a kernel has for each worker; a profile may say fewer
inline constexpr uint32_t kBlockLimit = 1 << 20;  // blocks per launch

}  // namespace sluice
