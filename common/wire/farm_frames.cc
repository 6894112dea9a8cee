#include "common/wire/farm_frames.h"

#include <zlib.h>

#include "fmt/format.h"

namespace sluice::wire {

std::string_view text_of(const Payload& frame) {
  return {reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size()};
}

std::string checksum_of(std::string_view message, std::span<const std::byte> bytes) {
  uLong sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(message.data()), message.size());
  // Of no address the library returns the sum of nothing, not the sum so far.
  if (!bytes.empty())
    sum = ::crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  return fmt::format("{:08x}", sum);
}

std::optional<FarmFrames> parse_farm_frames(std::vector<Payload> frames) {
  if (frames.size() < 2 || frames.size() > kMaxFarmFrames) return std::nullopt;
  FarmFrames parsed;
  if (frames.size() == kMaxFarmFrames) parsed.bytes = std::move(frames[2]);
  const std::string_view message = text_of(frames[1]);
  if (message.size() > kMaxFarmFrameBytes || parsed.bytes.bytes.size() > kMaxPieceBytes ||
      text_of(frames[0]) != checksum_of(message, parsed.bytes.bytes))
    return std::nullopt;
  if (!parsed.message.ParseFromArray(message.data(), static_cast<int>(message.size())) ||
      parsed.message.is_case() == pb::FarmMessage::IS_NOT_SET)
    return std::nullopt;
  if (!parsed.message.has_piece() && frames.size() == kMaxFarmFrames) return std::nullopt;
  return parsed;
}

}  // namespace sluice::wire
