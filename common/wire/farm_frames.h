// The messages of the farm as frames (schemas/farm.proto). This file uses no sockets: frames are
// untrusted bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/wire/payload.h"
#include "farm.pb.h"

namespace sluice::wire {

inline constexpr size_t kMaxFarmFrames = 3;  // checksum, message, bytes
inline constexpr uint32_t kMaxPieceBytes = 1u << 20;
inline constexpr uint64_t kMaxFarmFrameBytes = 4u << 20;

std::string_view text_of(const Payload& frame);

struct FarmFrames {
  pb::FarmMessage message;
  Payload bytes;  // of a Piece
};

// Returns the first frame for the bytes of the others.
std::string checksum_of(std::string_view message, std::span<const std::byte> bytes);

// Returns nothing when the frames are no message: damaged, or not in the form.
std::optional<FarmFrames> parse_farm_frames(std::vector<Payload> frames);

}  // namespace sluice::wire
