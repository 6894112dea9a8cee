#include "common/store/store_pins.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

class StorePinsTest : public ::testing::Test {
 protected:
  static Digest digest_of(std::string_view text) { return sha256(text); }
  PinnedFiles pinned() const { return read_pins(store_, AbandonedPins::kRemove); }
  std::string file(const std::string& name) const { return store_ + "/pins/" + name; }

  const TestFolder folder_;
  const std::string store_ = folder_.file("store");
};

TEST_F(StorePinsTest, LastAsLongAsTheObject) {
  EXPECT_TRUE(pinned().digests.empty());
  {
    StorePins one(store_), two(store_);
    one.add(digest_of("a"));
    two.add(digest_of("b"));
    two.add(digest_of("c"));
    EXPECT_EQ(pinned().digests, (std::set{digest_of("a"), digest_of("b"), digest_of("c")}));
    EXPECT_TRUE(pinned().holds(digest_of("a"), 0));
    EXPECT_FALSE(pinned().holds(digest_of("d"), 0));
  }
  EXPECT_TRUE(pinned().digests.empty());
  EXPECT_TRUE(fs::is_empty(store_ + "/pins"));
}

TEST_F(StorePinsTest, WhatIsUsedFromThenOnIsPinned) {
  EXPECT_FALSE(pinned().holds(digest_of("a"), INT64_MAX - 1));
  StorePins pins(store_);
  pins.start();
  ASSERT_TRUE(write_text(folder_.file("later"), "").ok());
  struct stat status{};
  ASSERT_EQ(::stat(folder_.file("later").c_str(), &status), 0);
  const int64_t now = status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
  EXPECT_TRUE(pinned().holds(digest_of("a"), now));
  EXPECT_FALSE(pinned().holds(digest_of("a"), now - int64_t{60'000'000'000}));
}

// Of a process that was killed the file is left, and the lock is not.
TEST_F(StorePinsTest, FilesThatNobodyHoldsAreRemoved) {
  ASSERT_TRUE(make_directories(store_ + "/pins").ok());
  const std::string left = file("host-with-dash-12-0"), foreign = file("notes"),
                    other = file("12-0");
  for (const std::string& path : {left, foreign, other})
    ASSERT_TRUE(write_text(path, digest_hex(digest_of("a")) + "\n").ok());
  EXPECT_TRUE(read_pins(store_, AbandonedPins::kKeep).digests.empty());
  EXPECT_TRUE(fs::exists(left));
  EXPECT_TRUE(pinned().digests.empty());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(foreign) && fs::exists(other));
}

TEST_F(StorePinsTest, ALineWithoutEndIsNotTaken) {
  StorePins pins(store_);
  EXPECT_FALSE(fs::exists(store_));
  pins.add(digest_of("c"));
  const fs::path path = fs::directory_iterator(store_ + "/pins")->path();
  const std::string whole = digest_hex(digest_of("a"));
  std::string text = "nonsense\n" + whole + "\n" + digest_hex(digest_of("b"));
  Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND));
  ASSERT_TRUE(write_descriptor(file.get(), std::as_bytes(std::span(text))).ok());
  EXPECT_EQ(pinned().digests, (std::set{digest_of("a"), digest_of("c")}));
}

TEST_F(StorePinsTest, NoStoreHasNoPins) {
  StorePins none("");
  none.add(digest_of("a"));
  ASSERT_TRUE(write_text(folder_.file("file"), "").ok());
  StorePins unusable(folder_.file("file"));
  unusable.add(digest_of("a"));
  EXPECT_TRUE(read_pins(folder_.file("file"), AbandonedPins::kRemove).digests.empty());
}

}  // namespace
}  // namespace sluice
