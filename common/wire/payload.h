// Bytes that travel as one frame, and what keeps them alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace sluice {

struct Payload {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

inline constexpr uint64_t kMaxFrameBytes = uint64_t{1} << 30;  // unless --max-frame says otherwise
inline constexpr int kMissedHeartbeats = 5;                    // so many a client gives a peer
inline constexpr uint32_t kHeartbeatMs = 1000;

}  // namespace sluice
