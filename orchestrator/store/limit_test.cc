#include "orchestrator/store/limit.h"

#include <array>

#include "common/base/files.h"
#include "common/base/store_size.h"
#include "common/base/testing/test_folder.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(LimitTest, BytesAreReadWithTheirUnits) {
  const std::pair<const char*, uint64_t> rows[] = {{"0", 0},
                                                   {"1000", 1000},
                                                   {"7B", 7},
                                                   {"10k", 10'000},
                                                   {"10K", 10'000},
                                                   {"500M", 500'000'000},
                                                   {"1.5GB", 1'500'000'000},
                                                   {"10 G", 10'000'000'000},
                                                   {"64KiB", 65536},
                                                   {"1Mi", 1 << 20},
                                                   {"2TiB", uint64_t{2} << 40}};
  for (const auto& [text, bytes] : rows) {
    const auto found = bytes_from_text("--max-bytes", text);
    ASSERT_TRUE(found.ok()) << text;
    EXPECT_EQ(*found, bytes) << text;
  }
}

TEST(LimitTest, WhatIsNoNumberOfBytesIsRefused) {
  for (const char* text : {"", "G", "-1", "10X", "10GG", "10 Gi x", "1e9", "nan", "inf", "9999999P",
                           "0x10", "0X", "10iB", "10BB"})
    EXPECT_FALSE(bytes_from_text("--max-bytes", text).ok()) << text;
}

TEST(LimitTest, IsKeptInAFile) {
  const TestFolder folder;
  EXPECT_FALSE(find_limit(folder.path()));
  ASSERT_TRUE(set_limit(folder.path(), 12'000).ok());
  EXPECT_EQ(find_limit(folder.path()), 12'000u);
  EXPECT_EQ(read_text(folder.file("limit")).value(), "12000\n");
  ASSERT_TRUE(set_limit(folder.path(), std::nullopt).ok());
  EXPECT_FALSE(find_limit(folder.path()));
  ASSERT_TRUE(set_limit(folder.path(), std::nullopt).ok()) << "there is none already";
  EXPECT_EQ(set_limit(folder.file("none"), 1).error().code, ErrorCode::kIo);
}

TEST(LimitTest, BytesWithAnotherNameDoNotFillAStoreAlone) {
  const TestFolder folder;
  set_known_size(folder.path(), 100, 5000);
  EXPECT_EQ(find_store_size(folder.path()), 5100u);
  ASSERT_TRUE(set_limit(folder.path(), 1000).ok());
  const std::array<uint64_t, 3> rows[] = {
      {100, 200, 300}, {100, 5000, 950}, {980, 5000, 980}, {1200, 5000, 1200}};
  for (const auto& [own, linked, size] : rows) {
    set_known_size(folder.path(), own, linked);
    EXPECT_EQ(find_store_size(folder.path()), size);
  }
}

TEST(LimitTest, AFileThatIsNoNumberIsNoLimit) {
  const TestFolder folder;
  for (const char* text : {"", "12", "12\nmore", "other\n", "-3\n", "99999999999999999999\n"}) {
    ASSERT_TRUE(write_text(folder.file("limit"), text).ok());
    EXPECT_FALSE(find_limit(folder.path())) << text;
  }
}

}  // namespace
}  // namespace sluice
