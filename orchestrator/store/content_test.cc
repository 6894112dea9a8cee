#include "orchestrator/store/content.h"

#include <unistd.h>

#include <algorithm>

#include "gmock/gmock.h"
#include "orchestrator/store/testing/store_folder.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ContentTest : public StoreFolderTest {
 protected:
  StoreContent content() const {
    auto content = read_content(path_);
    EXPECT_TRUE(content.ok()) << content.error().message;
    return content ? *std::move(content) : StoreContent{};
  }
};

TEST_F(ContentTest, HasArtifactsAndRecordsWithTheirUses) {
  const Kept one = keep("one", 2), two = keep("two");
  const StoreContent found = content();
  ASSERT_EQ(found.artifacts.size(), 2u);
  ASSERT_EQ(found.records.size(), 2u);
  EXPECT_LT(found.artifacts[0].digest, found.artifacts[1].digest);
  const StoreFile* artifact = found.find_artifact(one.artifact);
  ASSERT_NE(artifact, nullptr);
  EXPECT_EQ(artifact->bytes, 100u);
  EXPECT_NEAR(static_cast<double>(found.now - artifact->use), 2.0 * kDayInNs, 60e9);
  EXPECT_FALSE(artifact->is_linked);
  EXPECT_EQ(found.find_artifact(one.key), nullptr);
  for (const StoreRecord& record : found.records) {
    EXPECT_EQ(record.kind, "kernel");
    EXPECT_THAT(record.artifacts,
                ElementsAre(record.file.digest == one.key ? one.artifact : two.artifact));
  }
}

TEST_F(ContentTest, ReadingIsNoUse) {
  keep("one", 3);
  content();
  const StoreContent again = content();
  EXPECT_LT(again.records[0].file.use, again.now - 2 * kDayInNs);
}

TEST_F(ContentTest, TheLaterOfReadingAndWritingIsTheUseAndNoneIsInTheFuture) {
  const Kept kept = keep("one", 9), future = keep("two", -5);
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW},
                             {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  ASSERT_EQ(::utimensat(AT_FDCWD, artifact(kept.artifact).c_str(), times, 0), 0);
  const StoreContent found = content();
  EXPECT_GT(found.find_artifact(kept.artifact)->use, found.now - kDayInNs);
  EXPECT_EQ(found.find_artifact(future.artifact)->use, found.now);
}

TEST_F(ContentTest, WhatIsCalledOtherwiseIsNoneOfOurs) {
  const Kept kept = keep("one");
  const std::string hex = digest_hex(kept.artifact);
  std::string upper = hex;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  write("README", "text");
  write(hex.substr(0, 2) + "/notes.txt", "text");
  write(hex.substr(0, 2) + "/" + upper, "text");
  write("zz/" + hex, "text");
  write((hex[0] == '0' ? "1" : "0") + hex.substr(1, 1) + "/" + hex, "in a wrong folder");
  write("records/" + hex, "text");
  const std::string link = artifact(sha256(std::string_view("link")));
  ASSERT_TRUE(make_directories(std::filesystem::path(link).parent_path()).ok());
  std::filesystem::create_symlink(path_ + "/README", link);
  const StoreContent found = content();
  EXPECT_EQ(found.artifacts.size(), 1u);
  EXPECT_EQ(found.records.size(), 1u);
  EXPECT_THAT(found.leftover, IsEmpty());
}

TEST_F(ContentTest, UnfinishedFilesAreLeftOverAfterADay) {
  const Kept kept = keep("one");
  const std::string name = digest_hex(kept.artifact);
  const std::string folder = name.substr(0, 2) + "/";
  write(folder + name + ".tmp12", "young");
  write(folder + "mine.tmp12", "foreign", 2);
  write(folder + name + ".tmpfile", "foreign", 2);
  write("size.tmp12", "foreign", 2);
  const std::string old = write(folder + name + ".tmp12-1", "", 2), job = write("job.tmp7", "", 2),
                    limit = write("limit.tmp7", "", 2),
                    record = write("records/" + folder + name + ".tmp9", "", 2);
  std::vector<std::string> expected{old, job, limit, record};
  std::ranges::sort(expected);
  EXPECT_EQ(content().leftover, expected);
}

TEST_F(ContentTest, DamagedRecordsHaveNoKind) {
  const Kept kept = keep("one");
  ASSERT_TRUE(write_text(record(kept.key), "sluice record 2\n").ok());
  EXPECT_EQ(content().records.at(0).kind, "");
  EXPECT_THAT(content().records.at(0).artifacts, IsEmpty());
}

TEST_F(ContentTest, JobsNeedTheirGraphsAndTheFilesOfTheirOptions) {
  const Digest graph = keep_artifact("graph"), list = keep_artifact("list");
  Record job{"compile", {}, {}};
  job.fields.add("input", sha256(std::string_view("structure")));
  job.fields.add("optimize.modify-mixlist", "content " + digest_hex(list));
  job.results.add("graph", graph);
  store_.keep_job(job);
  store_.keep_failure(job);
  const StoreContent found = content();
  ASSERT_EQ(found.records.size(), 2u);
  for (const StoreRecord& record : found.records) {
    const bool is_job = record.folder == kJobs;
    EXPECT_EQ(record.kind, is_job ? "job" : "failure");
    EXPECT_EQ(record.artifacts, is_job ? (std::vector{graph, list}) : std::vector<Digest>{});
    EXPECT_FALSE(record.graph);
    EXPECT_TRUE(exists(record.path(path_)));
  }
}

TEST_F(ContentTest, BytesThatHaveAnotherNameAreNoneOfItsOwn) {
  const std::string file = folder_.file("model.om");
  ASSERT_TRUE(write_text(file, "model").ok());
  const auto digest = store_.keep_file(file);
  ASSERT_TRUE(digest);
  EXPECT_TRUE(content().artifacts.at(0).is_linked);
  EXPECT_EQ(content().own_bytes(), 0u);
  std::filesystem::remove(file);
  EXPECT_EQ(content().own_bytes(), 5u);
}

TEST_F(ContentTest, OnlyAStoreIsRead) {
  const auto code_of = [](const std::string& path) {
    const auto checked = check_store(path);
    return checked ? ErrorCode{} : checked.error().code;
  };
  EXPECT_EQ(code_of(path_), ErrorCode::kNotFound);
  ASSERT_TRUE(make_directories(path_).ok());
  EXPECT_EQ(code_of(path_), ErrorCode{}) << "an empty folder is an empty store";
  write("README", "text");
  write("src/main.c", "text");
  EXPECT_EQ(code_of(path_), ErrorCode::kBadFile);
  EXPECT_THAT(check_store(path_).error().message, HasSubstr("is no store"));
  EXPECT_EQ(code_of(path_ + "/README"), ErrorCode::kNotFound);
  keep("one");
  EXPECT_EQ(code_of(path_), ErrorCode{});
}

TEST_F(ContentTest, ALinkToAStoreIsOne) {
  keep("one");
  const std::string link = folder_.file("link");
  std::filesystem::create_directory_symlink(path_, link);
  for (const std::string& path : {link, path_ + "/", path_ + "//"}) {
    const auto found = read_content(path);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->path, path_);
    EXPECT_EQ(found->artifacts.size(), 1u);
  }
}

}  // namespace
}  // namespace sluice
