#include "common/base/store.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"

namespace sluice {
namespace {

class StoreTest : public ::testing::Test {
 protected:
  static std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
  }

  const TestFolder test_folder_;
  const std::string folder_ = test_folder_.path();
};

TEST_F(StoreTest, ArtifactsLieUnderTheirDigests) {
  const Digest digest = sha256(std::string_view("abc"));
  ASSERT_TRUE(put_in_store(folder_, digest, bytes_of("abc")).ok());
  EXPECT_EQ(
      store_path(folder_, digest),
      folder_ +
          "/ba/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-4
  EXPECT_EQ(read_text(store_path(folder_, digest)).value(), "abc");
}

TEST_F(StoreTest, WhatIsThereIsNotWrittenAgain) {
  const Digest digest = sha256(std::string_view("abc"));
  ASSERT_TRUE(put_in_store(folder_, digest, bytes_of("abc")).ok());
  const auto before = std::filesystem::last_write_time(store_path(folder_, digest));
  std::filesystem::last_write_time(store_path(folder_, digest), before - std::chrono::hours(1));
  ASSERT_TRUE(put_in_store(folder_, digest, bytes_of("abc")).ok());
  EXPECT_EQ(std::filesystem::last_write_time(store_path(folder_, digest)),
            before - std::chrono::hours(1));
}

TEST_F(StoreTest, WhatIsAddedIsCounted) {
  const Digest digest = sha256(std::string_view("abc"));
  EXPECT_EQ(put_in_store(folder_, digest, bytes_of("abc")).value(), 3u);
  EXPECT_EQ(put_in_store(folder_, digest, bytes_of("abc")).value(), 0u);
}

// Somebody may remove a folder that is empty.
TEST_F(StoreTest, AFolderThatIsRemovedIsMadeAgain) {
  const std::string path = folder_ + "/ab/file";
  int trials = 0;
  const auto write = [&]() -> Result<void> {
    if (++trials < 3) std::filesystem::remove(folder_ + "/ab");
    return write_text(path, "text");
  };
  EXPECT_TRUE(write_in_folder_of(path, write).ok());
  EXPECT_EQ(trials, 3);
  EXPECT_EQ(read_text(path).value(), "text");
  const auto fail = [&]() -> Result<void> {
    ++trials;
    return make_error(ErrorCode::kIo, "another reason");
  };
  EXPECT_FALSE(write_in_folder_of(path, fail).ok());
  EXPECT_EQ(trials, 4) << "the folder is there: the reason is another one";
}

TEST_F(StoreTest, WhatIsCutOffIsWrittenAgain) {
  const Digest digest = sha256(std::string_view("abc"));
  ASSERT_TRUE(put_in_store(folder_, digest, bytes_of("ab")).ok());
  ASSERT_TRUE(put_in_store(folder_, digest, bytes_of("abc")).ok());
  EXPECT_EQ(read_text(store_path(folder_, digest)).value(), "abc");
}

TEST_F(StoreTest, WhatIsDamagedIsWrittenAgain) {
  const Digest digest = sha256(std::string_view("abc"));
  ASSERT_TRUE(put_in_store(folder_, digest, bytes_of("abX")).ok());
  ASSERT_TRUE(put_in_store(folder_, digest, bytes_of("abc")).ok());
  EXPECT_EQ(read_text(store_path(folder_, digest)).value(), "abc");
}

TEST_F(StoreTest, AFileInItsPlaceIsAnError) {
  ASSERT_TRUE(write_text(folder_ + "/file", "").ok());
  EXPECT_FALSE(
      put_in_store(folder_ + "/file", sha256(std::string_view("abc")), bytes_of("abc")).ok());
}

}  // namespace
}  // namespace sluice
