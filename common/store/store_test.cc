#include "common/store/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <thread>

#include "common/base/store.h"
#include "common/base/testing/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class StoreOfResultsTest : public ::testing::Test {
 protected:
  std::string kept_text(const Digest& digest) {
    const auto file = store_.find_artifact(digest);
    if (!file) return "nothing";
    return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
  }
  std::string file(const std::string& name, std::string_view text) {
    const std::string path = folder_.file(name);
    EXPECT_TRUE(write_text(path, text).ok());
    return path;
  }

  const TestFolder folder_;
  Store store_{folder_.file("store")};
  Fields fields_;
};

// What another store has is fetched into this one, once, and what is kept here is reported.
TEST_F(StoreOfResultsTest, HasATierBehindIt) {
  Store other{folder_.file("other")};
  Record record{"kernel", fields_, {}};
  record.results.add("object", other.keep(bytes_of("code")));
  other.keep(record);
  int fetched = 0;
  std::vector<Digest> kept;
  const auto copy = [&](const std::string& from, const std::string& to) {
    ++fetched;
    std::filesystem::create_directories(std::filesystem::path(to).parent_path());
    std::error_code failed;
    return std::filesystem::copy_file(from, to, failed);
  };
  store_.connect(
      {.fetch_record =
           [&](const Digest& key) {
             return copy(record_path(other.path(), key), record_path(store_.path(), key));
           },
       .fetch_artifact =
           [&](const Digest& digest) {
             return copy(store_path(other.path(), digest), store_path(store_.path(), digest));
           },
       .kept_record = [&](const Digest& key) { kept.push_back(key); }});
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store_.find(record.key()));
    EXPECT_EQ(kept_text(sha256(std::string_view("code"))), "code");
  }
  EXPECT_EQ(fetched, 2);
  EXPECT_FALSE(store_.find(sha256(std::string_view("nobody"))));
  EXPECT_FALSE(store_.find_job(record.key())) << "jobs are of one store";
  EXPECT_THAT(kept, IsEmpty());
  store_.keep(record);
  EXPECT_THAT(kept, ElementsAre(record.key()));
}

TEST_F(StoreOfResultsTest, UsesNoDamagedBytesOfATier) {
  const Digest digest = sha256(std::string_view("code"));
  const auto write = [&](const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    return write_text(path, "wrong").ok();
  };
  store_.connect(
      {.fetch_record = [&](const Digest& key) { return write(record_path(store_.path(), key)); },
       .fetch_artifact = [&](const Digest& key) { return write(store_path(store_.path(), key)); },
       .kept_record = {}});
  EXPECT_FALSE(store_.find(digest));
  EXPECT_EQ(kept_text(digest), "nothing");
  EXPECT_FALSE(std::filesystem::exists(store_path(store_.path(), digest)));
  EXPECT_FALSE(std::filesystem::exists(record_path(store_.path(), digest)));
}

TEST_F(StoreOfResultsTest, KeepsRecordsAndArtifacts) {
  fields_.add("a", "1");
  EXPECT_FALSE(store_.find("kernel", fields_));
  Record record{"kernel", fields_, {}};
  const Digest digest = store_.keep(bytes_of("code"));
  record.results.add("object", digest);
  store_.keep(record);
  const auto found = store_.find("kernel", fields_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->results.find_digest("object"), digest);
  EXPECT_EQ(kept_text(digest), "code");
  EXPECT_FALSE(store_.find("kernels", fields_));
  EXPECT_FALSE(store_.fault());
}

TEST_F(StoreOfResultsTest, AnEmptyPathKeepsNothing) {
  Store none("");
  const Digest digest = none.keep(bytes_of("code"));
  none.keep(Record{"kernel", fields_, {}});
  EXPECT_EQ(digest, sha256(std::string_view("code")));
  EXPECT_FALSE(none.find("kernel", fields_));
  EXPECT_FALSE(none.find_artifact(digest));
  EXPECT_FALSE(none.fault());
}

TEST_F(StoreOfResultsTest, DamagedFilesAreDeletedAndMissing) {
  const Digest digest = store_.keep(bytes_of("code"));
  store_.keep(Record{"kernel", fields_, {}});
  ASSERT_TRUE(write_text(store_path(store_.path(), digest), "cods").ok());
  EXPECT_FALSE(store_.find_artifact(digest));
  EXPECT_FALSE(std::filesystem::exists(store_path(store_.path(), digest)));
  ASSERT_TRUE(store_.fault());
  EXPECT_THAT(*store_.fault(), HasSubstr("was damaged and is deleted"));
  const std::string record = record_path(store_.path(), Record{"kernel", fields_, {}}.key());
  ASSERT_TRUE(write_text(record, "sluice record 1\n").ok());
  EXPECT_FALSE(store_.find("kernel", fields_));
  EXPECT_FALSE(std::filesystem::exists(record));
}

// A whole record under a wrong name would be a wrong answer.
TEST_F(StoreOfResultsTest, ARecordOfAnotherKeyIsDamaged) {
  fields_.add("a", "1");
  const Record record{"kernel", fields_, {}};
  const Record other{"optimize", fields_, {}};
  store_.keep(record);
  const std::string place = record_path(store_.path(), other.key());
  ASSERT_TRUE(make_directories(std::filesystem::path(place).parent_path()).ok());
  ASSERT_TRUE(write_text(place, record_text(record)).ok());
  EXPECT_FALSE(store_.find("optimize", fields_));
}

TEST_F(StoreOfResultsTest, AFileThatCannotBeKeptHasNoDigest) {
  const std::string path = file("code", "code");
  Store nowhere(path);  // a file where the folder is to be
  EXPECT_FALSE(nowhere.keep_file(path));
  EXPECT_TRUE(nowhere.fault());
}

TEST_F(StoreOfResultsTest, AFileIsKeptByALinkThatNobodyMayWrite) {
  const std::string path = file("model", "bytes");
  const auto digest = store_.keep_file(path);
  ASSERT_TRUE(digest);
  EXPECT_EQ(kept_text(*digest), "bytes");
  EXPECT_TRUE(std::filesystem::equivalent(path, store_path(store_.path(), *digest)));
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0222, 0u);
}

TEST_F(StoreOfResultsTest, AFileThatIsThereAlreadyStaysOfItsOwner) {
  const Digest digest = store_.keep(bytes_of("bytes"));
  const std::string path = file("model", "bytes");
  EXPECT_EQ(store_.keep_file(path), digest);
  EXPECT_FALSE(std::filesystem::equivalent(path, store_path(store_.path(), digest)));
}

TEST_F(StoreOfResultsTest, OneAtATimeMakesAResult) {
  const Digest key = sha256(std::string_view("key"));
  const auto never = [] { return false; };
  std::atomic<int> inside = 0, max_inside = 0;
  const auto make = [&] {
    for (int i = 0; i < 20; ++i) {
      const StoreLock lock = store_.lock(key, never);
      max_inside = std::max(max_inside.load(), ++inside);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      --inside;
    }
  };
  std::thread one(make), two(make);
  one.join();
  two.join();
  EXPECT_EQ(max_inside, 1);
  EXPECT_TRUE(std::filesystem::is_empty(store_.path() + "/locks"));
}

TEST_F(StoreOfResultsTest, WhoIsToldToStopDoesNotWait) {
  const Digest key = sha256(std::string_view("key"));
  int asked = 0;
  const StoreLock held = store_.lock(key, [] { return false; });
  const StoreLock other = store_.lock(key, [&] { return ++asked > 3; });
  EXPECT_EQ(asked, 4);
}

TEST_F(StoreOfResultsTest, ALockIsOfOne) {
  using Making = StoreLock::Making;
  const std::string path = file("lock", "");
  EXPECT_TRUE(StoreLock::try_file(path, Making::kAlways).is_held) << "it is there";
  {
    const StoreLock::Trial trial = StoreLock::try_file(path, Making::kNever);
    EXPECT_TRUE(trial.lock);
    EXPECT_TRUE(StoreLock::try_file(path, Making::kIfMissing).is_held);
    EXPECT_FALSE(StoreLock::try_file(path, Making::kNever).lock);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(StoreLock::try_file(path, Making::kNever).error, ENOENT);
  StoreLock::try_file(path, Making::kAlways).lock.leave_file();
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(StoreOfResultsTest, WhatIsKeptAgainIsUsed) {
  const Digest digest = store_.keep(bytes_of("code"));
  const std::string path = store_path(store_.path(), digest);
  const timespec old{.tv_sec = 1'000'000'000, .tv_nsec = 0};
  const timespec times[2] = {old, old};
  struct stat status{};
  for (const bool from_file : {false, true}) {
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    from_file ? store_.keep_file(file("code", "code")) : store_.keep(bytes_of("code"));
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_GT(status.st_atim.tv_sec, old.tv_sec);
    EXPECT_EQ(status.st_mtim.tv_sec, old.tv_sec);
  }
}

TEST_F(StoreOfResultsTest, AStoreThatCannotBeWrittenIsAFaultAndNoError) {
  Store none(file("no-folder", ""));
  EXPECT_EQ(none.keep(bytes_of("code")), sha256(std::string_view("code")));
  none.keep(Record{"kernel", fields_, {}});
  ASSERT_TRUE(none.fault());
  EXPECT_THAT(*none.fault(), HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace sluice
