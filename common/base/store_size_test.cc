#include "common/base/store_size.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"

namespace sluice {
namespace {

class StoreSizeTest : public ::testing::Test {
 protected:
  const TestFolder folder_;
  const std::string store_ = folder_.path();
};

TEST_F(StoreSizeTest, IsUnknownUntilItIsSet) {
  EXPECT_FALSE(find_store_size(store_));
  add_to_store_size(store_, 7);
  EXPECT_FALSE(find_store_size(store_));
  set_store_size(store_, 100);
  EXPECT_EQ(find_store_size(store_), 100u);
  add_to_store_size(store_, 7);
  EXPECT_EQ(find_store_size(store_), 107u);
  set_store_size(store_, 3);
  EXPECT_EQ(find_store_size(store_), 3u);
}

TEST_F(StoreSizeTest, WhatIsNoNumberIsUnknownAndSetAnew) {
  for (const std::string text : {"", "12", "x0000000000000000007\n", "000000000000000000070\n"}) {
    ASSERT_TRUE(write_text(store_ + "/size", text).ok());
    EXPECT_FALSE(find_store_size(store_)) << text;
    add_to_store_size(store_, 7);
    EXPECT_EQ(read_text(store_ + "/size").value(), text);
  }
  set_store_size(store_, 5);
  EXPECT_EQ(find_store_size(store_), 5u);
}

TEST_F(StoreSizeTest, WhoAddsAtTheSameTimeIsCountedEachTime) {
  set_store_size(store_, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (int j = 0; j < 50; ++j) add_to_store_size(store_, 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(find_store_size(store_), 600u);
}

TEST_F(StoreSizeTest, AFolderThatIsNotThereIsNoError) {
  set_store_size(folder_.file("none"), 5);
  EXPECT_FALSE(find_store_size(folder_.file("none")));
}

}  // namespace
}  // namespace sluice
