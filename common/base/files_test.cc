#include "common/base/files.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace sluice {
namespace {

std::string temporary(const std::string& name) { return testing::TempDir() + "/sluice_files_" + name; }

TEST(Files, WriterLeavesNothingWithoutCommit) {
  const std::string path = temporary("abandoned");
  {
    auto writer = FileWriter::create(path);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->write("half").ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Files, MapEqualsRead) {
  const std::string path = temporary("map");
  ASSERT_TRUE(write_text(path, "stream").ok());
  auto map = MappedFile::open(path);
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->bytes().size(), 6u);
  EXPECT_EQ(read_text(path).value(), "stream");
}

TEST(Files, MissingFileAndFolderAreErrors) {
  EXPECT_EQ(MappedFile::open(temporary("missing")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(MappedFile::open(testing::TempDir()).error().code, ErrorCode::kNotFound);
}

TEST(Files, PadsToAlignment) {
  const std::string path = temporary("pad");
  auto writer = FileWriter::create(path);
  ASSERT_TRUE(writer->write("abc").ok());
  ASSERT_TRUE(writer->pad_to(64).ok());
  EXPECT_EQ(writer->offset(), 64u);
  ASSERT_TRUE(writer->commit().ok());
  EXPECT_EQ(std::filesystem::file_size(path), 64u);
}

}  // namespace
}  // namespace sluice
