// The bytes of one frame, and the owner that keeps them alive.
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

// The most bytes of an input that is sent to a worker, unless --max-frame is set.
inline constexpr uint64_t kMaxFrameBytes = uint64_t{1} << 30;
inline constexpr int kMissedHeartbeats = 5;  // a client waits for this many intervals
inline constexpr uint32_t kHeartbeatMs = 1000;

}  // namespace sluice
