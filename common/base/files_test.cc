#include "common/base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "common/base/testing/test_folder.h"

namespace sluice {
namespace {

TEST(Files, WriterLeavesNothingWithoutCommit) {
  const TestFolder folder;
  const std::string path = folder.file("abandoned");
  {
    auto writer = FileWriter::create(path);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->write("half").ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Files, AKilledWriterLeavesNothing) {
  const TestFolder folder;
  if (const Descriptor nameless(::open(folder.path().c_str(), O_TMPFILE | O_RDWR, 0600)); !nameless)
    GTEST_SKIP() << "the file system has no nameless files";
  const pid_t child = ::fork();
  if (child == 0) {
    auto writer = FileWriter::create(folder.file("killed"));
    static_cast<void>(writer.ok() && writer->write("half").ok());
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Files, AnOpenFileOfAProcessIsWrittenInPlace) {
  const TestFolder folder;
  const std::string path = folder.file("whole");
  ASSERT_TRUE(write_text(path, "old").ok());
  auto file = TemporaryFile::create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(write_text(file->path_of_descriptor(), "new").ok());
  EXPECT_EQ(*read_text(path), "old");
  const std::filesystem::directory_iterator entries(folder.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1) << "a temporary of a temporary";
  ASSERT_TRUE(file->commit(path).ok());
  EXPECT_EQ(*read_text(path), "new");
}

TEST(Files, AnothersTemporaryFileIsLeftAlone) {
  const TestFolder folder;
  const std::string path = folder.file("shared");
  const std::string taken = path + ".tmp" + std::to_string(::getpid());
  ASSERT_TRUE(write_text(taken, "half").ok());
  ASSERT_TRUE(write_text(path, "whole").ok());
  EXPECT_EQ(*read_text(taken), "half");
  EXPECT_EQ(*read_text(path), "whole");
  std::filesystem::remove(taken);
  std::filesystem::remove(path);
}

TEST(Files, MapEqualsRead) {
  const TestFolder folder;
  const std::string path = folder.file("map");
  ASSERT_TRUE(write_text(path, "stream").ok());
  auto map = MappedFile::open(path);
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->bytes().size(), 6u);
  EXPECT_EQ(read_text(path).value(), "stream");
}

TEST(Files, MissingFileAndFolderAreErrors) {
  const TestFolder folder;
  EXPECT_EQ(MappedFile::open(folder.file("missing")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(MappedFile::open(folder.path()).error().code, ErrorCode::kNotFound);
}

TEST(Files, DevicesAndPipesAreUsedInPlace) {
  EXPECT_EQ(write_text("/dev/full", "x").error().code, ErrorCode::kIo);
  EXPECT_TRUE(write_text("/dev/null", "x").ok());
  EXPECT_TRUE(is_special_file("/dev/null"));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "stream", 6), 6);
  ::close(ends[1]);
  auto map = MappedFile::open("/dev/fd/" + std::to_string(ends[0]));
  ::close(ends[0]);
  ASSERT_TRUE(map.ok()) << map.error().message;
  EXPECT_EQ(map->bytes().size(), 6u);
}

TEST(Files, WhatIsKnownLaterIsWrittenOver) {
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  const TestFolder folder;
  const std::string path = folder.file("rewritten");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  for (const std::string& target :
       {path, "/dev/fd/" + std::to_string(ends[1])}) {  // a pipe gets its bytes at the end
    auto writer = FileWriter::create(target, FileWriter::Order::kRewriting);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE(writer->write("....body").ok());
    ASSERT_TRUE(writer->rewrite(0, bytes("head")).ok());
    ASSERT_TRUE(writer->commit().ok());
  }
  EXPECT_EQ(read_text(path).value(), "headbody");
  char got[9] = {};
  EXPECT_EQ(::read(ends[0], got, 8), 8);
  EXPECT_STREQ(got, "headbody");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Files, WhatIsWrittenPastTheCacheIsTheSame) {
  std::string body(10'000'001, 0);  // not a multiple of the block or request size
  for (size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 2654435761u >> 24);
  for (const size_t start : {size_t{4096}, size_t{100}}) {  // the second does not begin on a block
    const TestFolder folder;
    const std::string path = folder.file("uncached");
    auto writer = FileWriter::create(path, FileWriter::Order::kRewriting);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE(writer->write(std::string(start, '.')).ok());
    writer->begin_uncached();
    for (size_t at = 0; at < body.size(); at += 777'777)
      ASSERT_TRUE(writer->write(std::string_view(body).substr(at, 777'777)).ok());
    ASSERT_TRUE(writer->end_uncached().ok());
    ASSERT_TRUE(writer->write("tail").ok());
    ASSERT_TRUE(writer->rewrite(0, std::as_bytes(std::span(std::string_view("head")))).ok());
    ASSERT_TRUE(writer->commit().ok());
    EXPECT_TRUE(read_text(path).value() == "head" + std::string(start - 4, '.') + body + "tail")
        << start;
  }
}

TEST(Files, NamesFitAFolder) {
  EXPECT_EQ(file_name_of("a/b"), "a_b");
  EXPECT_EQ(file_name_of(".."), "._");
  const std::string long_name(1000, 'x');
  EXPECT_EQ(file_name_of(long_name).size(), 200u);
  EXPECT_NE(file_name_of(long_name), file_name_of(long_name + "y"));
  FileNames names;
  EXPECT_EQ(names.take("a/b"), "a_b");
  EXPECT_EQ(names.take("a_b"), "a_b~2");
}

TEST(Files, PadsToAlignment) {
  const TestFolder folder;
  const std::string path = folder.file("pad");
  auto writer = FileWriter::create(path);
  ASSERT_TRUE(writer->write("abc").ok());
  ASSERT_TRUE(writer->pad_to(64).ok());
  EXPECT_EQ(writer->offset(), 64u);
  ASSERT_TRUE(writer->commit().ok());
  EXPECT_EQ(std::filesystem::file_size(path), 64u);
}

}  // namespace
}  // namespace sluice
