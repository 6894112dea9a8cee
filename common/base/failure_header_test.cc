#include "common/base/failure_header.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "common/base/file_kind.h"

namespace sluice {
namespace {

TEST(FailureHeader, IsReadAsTheErrorOfItsProgram) {
  const auto bytes = print_failure_header(ErrorCode::kUnsupportedOp, "sluice-preprocess");
  EXPECT_EQ(file_kind(bytes), FileKind::kFailure);
  const Error error = failure_read(bytes);
  EXPECT_EQ(error.code, ErrorCode::kUnsupportedOp);
  EXPECT_EQ(error.reported_by, "sluice-preprocess");
  EXPECT_NE(error.message.find("sluice-preprocess failed"), std::string::npos);
}

TEST(FailureHeader, DamageAnywhereIsABadFile) {
  const auto bytes = print_failure_header(ErrorCode::kBadModel, "sluice-build");
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= std::byte{1};
    EXPECT_EQ(failure_read(damaged).code, ErrorCode::kBadFile) << "byte " << i;
    EXPECT_TRUE(failure_read(damaged).reported_by.empty()) << "byte " << i;
    EXPECT_EQ(failure_read(std::span(bytes).first(i)).code, ErrorCode::kBadFile) << i << " bytes";
  }
  std::vector<std::byte> longer(bytes.begin(), bytes.end());
  longer.push_back(std::byte{0});
  EXPECT_EQ(failure_read(longer).code, ErrorCode::kBadFile);
}

TEST(FailureHeader, ChecksumIsThatOfZlib) {
  const auto bytes = print_failure_header(ErrorCode::kUsage, "p");
  // python3: zlib.crc32(b"SLUICEFL" + struct.pack("<IHH", 1, 1001, 0) + b"p" + bytes(95))
  const uint32_t expected = 0x8394ff33u;
  uint32_t crc = 0;
  std::memcpy(&crc, bytes.data() + 112, sizeof(crc));
  EXPECT_EQ(crc, expected);
}

TEST(FailureHeader, LongNamesAreCut) {
  EXPECT_EQ(failure_read(print_failure_header(ErrorCode::kIo, std::string(100, 'x'))).reported_by,
            std::string(47, 'x'));
}

}  // namespace
}  // namespace sluice
