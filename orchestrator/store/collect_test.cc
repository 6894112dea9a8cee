#include "orchestrator/store/collect.h"

#include <unistd.h>

#include "common/base/store_size.h"
#include "common/store/store_pins.h"
#include "gmock/gmock.h"
#include "orchestrator/store/limit.h"
#include "orchestrator/store/testing/store_folder.h"

namespace sluice {
namespace {

class CollectTest : public StoreFolderTest {
 protected:
  Collected collected(const CollectRequest& request) {
    auto done = collect(path_, request);
    EXPECT_TRUE(done.ok()) << done.error().message;
    return done ? *done : Collected{};
  }
  // Deletes until so many bytes are left.
  Collected down_to(uint64_t bytes) {
    return collected({.max_bytes = bytes, .goal_bytes = bytes, .older_than = {}});
  }
  Collected older_than(double days) {
    return collected({.max_bytes = {},
                      .older_than = static_cast<int64_t>(days * static_cast<double>(kDayInNs))});
  }
  uint64_t bytes_of(const Kept& kept) const {
    return std::filesystem::file_size(artifact(kept.artifact)) +
           std::filesystem::file_size(record(kept.key));
  }
};

TEST_F(CollectTest, WhatWasUsedLongestAgoGoesFirst) {
  const Kept young = keep("a", 1), old = keep("b", 3), middle = keep("c", 2);
  const uint64_t each = bytes_of(young);
  const Collected done = down_to(2 * each);
  EXPECT_TRUE(has(young) && has(middle));
  EXPECT_FALSE(has(old));
  EXPECT_EQ(done.deleted.artifacts, 1u);
  EXPECT_EQ(done.deleted.records, 1u);
  EXPECT_EQ(done.deleted.bytes, each);
  EXPECT_EQ(done.left.bytes, 2 * each);
  EXPECT_EQ(find_store_size(path_), 2 * each);
  down_to(each + 1);
  EXPECT_TRUE(has(young));
  EXPECT_FALSE(has(middle));
}

// A compile that finds all its products reads the last one alone, and the records of all.
TEST_F(CollectTest, TheUseOfARecordIsAUseOfItsArtifact) {
  const Kept kept = keep("a", 9), other = keep("b", 5);
  set_age(record(kept.key), 1);
  down_to(bytes_of(other));
  EXPECT_TRUE(has(kept));
  EXPECT_FALSE(has(other));
}

TEST_F(CollectTest, AnArtifactTakesEveryRecordWithIt) {
  const Kept kept = keep("a", 9);
  const Digest second = keep_record("build", {}, {{"output", digest_hex(kept.artifact)}}, 8);
  const Collected done = older_than(7);
  EXPECT_FALSE(has(kept));
  EXPECT_FALSE(exists(record(second)));
  EXPECT_EQ(done.deleted.records, 2u);
  EXPECT_EQ(done.left.bytes, 0u);
}

TEST_F(CollectTest, ARecordOfSeveralArtifactsIsCountedOnce) {
  const Digest one = keep_artifact("a", 9), two = keep_artifact("b", 9);
  keep_record("build", {}, {{"output", digest_hex(one)}, {"weights", digest_hex(two)}}, 9);
  const Collected done = older_than(7);
  EXPECT_EQ(done.deleted.records, 1u);
  EXPECT_EQ(done.deleted.artifacts, 2u);
  EXPECT_EQ(done.left.bytes, 0u);
}

TEST_F(CollectTest, NothingIsDeletedThatFitsOrIsYoung) {
  const Kept kept = keep("a", 2);
  EXPECT_EQ(down_to(bytes_of(kept)).deleted.records, 0u);
  EXPECT_EQ(older_than(3).deleted.records, 0u);
  EXPECT_EQ(collected({}).deleted.records, 0u);
  EXPECT_TRUE(has(kept));
  EXPECT_EQ(older_than(1).deleted.records, 1u);
  EXPECT_FALSE(has(kept));
}

TEST_F(CollectTest, ATimeInTheFutureIsNow) {
  const Kept future = keep("a", -400), old = keep("b", 1);
  down_to(bytes_of(old));
  EXPECT_TRUE(has(future));
  EXPECT_FALSE(has(old));
  down_to(0);
  EXPECT_FALSE(has(future));
}

TEST_F(CollectTest, ATrialDeletesNothing) {
  const Kept kept = keep("a", 9);
  const std::string left = write("job.tmp3", "", 2);
  const Collected done =
      collected({.max_bytes = 0, .goal_bytes = 0, .older_than = {}, .is_trial = true});
  EXPECT_EQ(done.deleted.records, 1u);
  EXPECT_EQ(done.left.bytes, 0u);
  EXPECT_EQ(done.leftover, 1u);
  EXPECT_TRUE(has(kept) && exists(left));
  EXPECT_FALSE(exists(path_ + "/locks") || exists(path_ + "/size"));
}

TEST_F(CollectTest, AFileOfAUserFreesNothingAndStaysUntilItIsOld) {
  const std::string file = folder_.file("model.om");
  ASSERT_TRUE(write_text(file, "model").ok());
  set_age(file, 9);
  const Kept linked{
      .artifact = *store_.keep_file(file),
      .key =
          keep_record("build", {}, {{"output", digest_hex(sha256(std::string_view("model")))}}, 9)};
  const Kept other = keep("a", 1);
  EXPECT_EQ(down_to(0).deleted.artifacts, 1u);
  EXPECT_TRUE(has(linked));
  EXPECT_FALSE(has(other));
  set_age(file, 9);
  older_than(7);
  EXPECT_FALSE(has(linked));
  EXPECT_EQ(read_text(file).value(), "model");
}

TEST_F(CollectTest, WhatRunningProgramsNeedStays) {
  const Kept by_key = keep("a", 9), by_artifact = keep("b", 9), other = keep("c", 9);
  {
    StorePins pins(path_);
    pins.add(by_key.key);
    pins.add(by_artifact.artifact);
    const Kept made_since = keep("d");
    const Collected done = down_to(0);
    EXPECT_TRUE(has(by_key) && has(by_artifact) && has(made_since));
    EXPECT_FALSE(has(other));
    EXPECT_EQ(done.in_use, 3u);
  }
  down_to(0);
  EXPECT_FALSE(has(by_key) || has(by_artifact));
}

TEST_F(CollectTest, ForeignFilesStay) {
  keep("a", 9);
  const std::string hex = digest_hex(sha256(std::string_view("x")));
  const std::string foreign[] = {
      write("README", "text", 9),        write("ab/notes", "text", 9),
      write("src/" + hex, "text", 9),    write("records/ab/notes", "text", 9),
      write("locks/notes", "text", 9),   write("pins/notes", "text", 9),
      write("partial/notes", "text", 9), write("notes.tmp1", "text", 9)};
  const Collected done = down_to(0);
  EXPECT_EQ(done.left.artifacts, 0u);
  EXPECT_EQ(done.leftover, 0u);
  for (const std::string& path : foreign) EXPECT_TRUE(exists(path)) << path;
}

TEST_F(CollectTest, AFolderThatIsNoStoreIsLeftAlone) {
  const std::string file = write("README", "text", 9);
  const auto done = collect(path_, {.max_bytes = 0, .older_than = 0});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::kBadFile);
  EXPECT_TRUE(exists(file));
  EXPECT_FALSE(exists(path_ + "/locks"));
}

TEST_F(CollectTest, WhatKilledProgramsLeftIsRemoved) {
  const Kept kept = keep("a");
  const std::string name = digest_hex(kept.artifact);
  const std::string temporary = write(name.substr(0, 2) + "/" + name + ".tmp5", "", 2),
                    partial = write("partial/" + name, "", 2),
                    etag = write("partial/" + name + ".etag", "", 2),
                    young = write("partial/" + digest_hex(kept.key), ""),
                    lock = write("locks/" + name, ""), pins = write("pins/host-5-0", "");
  const StoreLock held = store_.lock(kept.key, [] { return false; });
  EXPECT_EQ(collected({}).leftover, 3u);
  EXPECT_FALSE(exists(temporary) || exists(partial) || exists(etag));
  EXPECT_FALSE(exists(lock) || exists(pins));
  EXPECT_TRUE(exists(young));
  EXPECT_TRUE(exists(path_ + "/locks/" + digest_hex(kept.key)));
  EXPECT_TRUE(has(kept));
}

TEST_F(CollectTest, EmptyFoldersAreRemovedAndMadeAgain) {
  const Kept kept = keep("a", 9);
  const std::string folder = std::filesystem::path(artifact(kept.artifact)).parent_path();
  down_to(0);
  EXPECT_FALSE(exists(folder));
  EXPECT_TRUE(has(keep("a")));
}

// A remote store may have it.
TEST_F(CollectTest, ARecordWithoutItsArtifactGoesByItsUse) {
  const Kept lost = keep("a", 5), kept = keep("b", 3);
  std::filesystem::remove(artifact(lost.artifact));
  EXPECT_EQ(collected({}).deleted.records, 0u);
  EXPECT_EQ(older_than(4).deleted.records, 1u);
  EXPECT_FALSE(exists(record(lost.key)));
  EXPECT_TRUE(has(kept));
}

TEST_F(CollectTest, AJobGoesWithItsGraph) {
  const Digest graph = keep_artifact("graph", 9);
  Record job{"compile", {}, {}};
  job.results.add("graph", graph);
  store_.keep_job(job);
  store_.keep_failure(job);
  const std::string path = record_path(path_, job.key(), kJobs),
                    failure = record_path(path_, job.key(), kFailures);
  set_age(path, 5);
  set_age(failure, 5);
  older_than(6);
  EXPECT_TRUE(exists(path) && exists(artifact(graph)) && exists(failure));
  older_than(4);
  EXPECT_FALSE(exists(path) || exists(artifact(graph)) || exists(failure));
}

// Another release may have written it.
TEST_F(CollectTest, ARecordThatCannotBeReadGoesByItsUse) {
  const Kept kept = keep("a", 9);
  ASSERT_TRUE(write_text(record(kept.key), "sluice record 2\n").ok());
  set_age(record(kept.key), 4);
  older_than(5);
  EXPECT_FALSE(exists(artifact(kept.artifact)));
  EXPECT_TRUE(exists(record(kept.key)));
  older_than(3);
  EXPECT_FALSE(exists(record(kept.key)));
}

TEST_F(CollectTest, OneAtATimeDeletes) {
  const Kept kept = keep("a", 9);
  ASSERT_TRUE(make_directories(path_ + "/locks").ok());
  auto held = StoreLock::try_file(path_ + "/locks/gc", StoreLock::Making::kIfMissing);
  ASSERT_TRUE(held.lock);
  EXPECT_TRUE(down_to(0).is_busy);
  EXPECT_TRUE(has(kept));
  held.lock = {};
  EXPECT_FALSE(down_to(0).is_busy);
  EXPECT_FALSE(has(kept));
}

TEST_F(CollectTest, AFullStoreIsEmptiedToNineTenths) {
  uint64_t each = 0;
  for (int i = 0; i < 20; ++i) each = bytes_of(keep(fmt::format("kernel {:02}", i), 20 - i));
  ASSERT_TRUE(set_limit(path_, 20 * each).ok());
  ASSERT_TRUE(collect_if_full(store_).ok());
  EXPECT_EQ(find_store_size(path_), 20 * each) << "it is not full, and now its size is known";
  keep("kernel 20");
  ASSERT_TRUE(collect_if_full(store_).ok());
  EXPECT_EQ(find_store_size(path_), 18 * each);
  ASSERT_TRUE(set_limit(path_, each).ok());
  ASSERT_TRUE(collect_if_full(store_).ok());
  EXPECT_EQ(find_store_size(path_), 18 * each) << "nothing was kept in between";
}

TEST_F(CollectTest, WithoutALimitNothingIsDeleted) {
  const Kept kept = keep("a", 9);
  ASSERT_TRUE(collect_if_full(store_).ok());
  EXPECT_TRUE(has(kept));
  EXPECT_FALSE(exists(path_ + "/size"));
}

// The size may be wrong: files are deleted only when there really are too many.
TEST_F(CollectTest, ASizeThatIsWrongIsSetRight) {
  const Kept kept = keep("a", 9);
  ASSERT_TRUE(set_limit(path_, 100'000).ok());
  set_store_size(path_, 1'000'000);
  ASSERT_TRUE(collect_if_full(store_).ok());
  EXPECT_TRUE(has(kept));
  EXPECT_EQ(find_store_size(path_), bytes_of(kept));
}

TEST_F(CollectTest, WhatIsKeptIsCounted) {
  set_store_size(folder_.path(), 0);
  {
    Store store(folder_.path());
    const std::string text = "bytes";
    store.keep(std::as_bytes(std::span(text)));
    store.keep(std::as_bytes(std::span(text)));
    const std::string file = folder_.file("file");
    ASSERT_TRUE(write_text(file, "file").ok());
    store.keep_file(file);
    store.keep_file(file);
    EXPECT_EQ(store.take_added_bytes(), 9u);
    store.keep(Record{"kernel", {}, {}});
  }
  EXPECT_EQ(find_store_size(folder_.path()), 9 + record_text(Record{"kernel", {}, {}}).size());
}

}  // namespace
}  // namespace sluice
