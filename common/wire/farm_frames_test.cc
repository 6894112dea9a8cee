#include "common/wire/farm_frames.h"

#include "gtest/gtest.h"

namespace sluice::wire {
namespace {

// The values are those of CRC-32 in RFC 1952, which other programs compute, too.
TEST(FarmFramesTest, TheChecksumIsOfAllFrames) {
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  EXPECT_EQ(checksum_of("123456789", {}), "cbf43926");
  EXPECT_EQ(checksum_of("1234", bytes("56789")), "cbf43926");
  EXPECT_EQ(checksum_of("", {}), "00000000");
}

TEST(FarmFramesTest, AMessageWithAnotherChecksumIsNone) {
  pb::FarmMessage message;
  message.mutable_client_beat()->set_client("alice");
  const std::string text = message.SerializeAsString(), sum = checksum_of(text, {});
  const auto parsed = [&](std::string_view checksum) {
    const auto frame = [](std::string_view content) {
      return Payload{std::as_bytes(std::span(content)), nullptr};
    };
    return parse_farm_frames({frame(checksum), frame(text)});
  };
  EXPECT_TRUE(parsed(sum));
  EXPECT_FALSE(parsed("00000000"));
}

}  // namespace
}  // namespace sluice::wire
