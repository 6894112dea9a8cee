#include "stages/build/weights/shared_weights.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"

namespace sluice {
namespace {

class SharedWeightsTest : public ::testing::Test {
 protected:
  // Writes a constant of these words.
  std::string write(SharedWeights& weights, std::string_view words) const {
    const Digest digest = sha256(words);
    EXPECT_TRUE(weights.add(std::as_bytes(std::span(words.substr(0, 3)))));
    EXPECT_TRUE(weights.add(std::as_bytes(std::span(words.substr(3)))));
    EXPECT_TRUE(weights.end(digest));
    return place_.shared_file(digest);
  }
  size_t files() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(place_.folder))
      ++count;
    return count;
  }

  const TestFolder folder_;
  const WeightsPlace place_{folder_.path(), "model"};
};

TEST_F(SharedWeightsTest, FilesHaveTheirNamesAndStayWhenKept) {
  std::string first, second;
  {
    SharedWeights weights(place_);
    first = write(weights, "first constant");
    second = write(weights, "second");
    weights.keep();
  }
  EXPECT_EQ(*read_text(first), "first constant");
  EXPECT_EQ(*read_text(second), "second");
  EXPECT_EQ(files(), 2u);
}

TEST_F(SharedWeightsTest, WhatWasMadeGoesWithABuildThatFails) {
  std::string old;
  {
    SharedWeights weights(place_);
    old = write(weights, "old constant");
    weights.keep();
  }
  {
    SharedWeights weights(place_);
    write(weights, "new constant");
    write(weights, "old constant");
    EXPECT_TRUE(weights.add(std::as_bytes(std::span(std::string_view("half a constant")))));
  }
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(*read_text(old), "old constant");
}

TEST_F(SharedWeightsTest, FilesThatAnotherBuildUsesStay) {
  std::string made;
  {
    SharedWeights failing(place_);
    made = write(failing, "a constant");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // times of files are that coarse
    SharedWeights other(place_);
    write(other, "a constant");
    other.keep();
  }
  EXPECT_EQ(*read_text(made), "a constant");
}

TEST_F(SharedWeightsTest, ADamagedFileIsReplaced) {
  SharedWeights weights(place_);
  const std::string path = write(weights, "a constant");
  for (const std::string_view wrong : {"a Constant", "short", ""}) {
    ASSERT_TRUE(write_text(path, wrong));
    write(weights, "a constant");
    EXPECT_EQ(*read_text(path), "a constant");
  }
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  write(weights, "a constant");
  EXPECT_EQ(*read_text(path), "a constant");
}

}  // namespace
}  // namespace sluice
