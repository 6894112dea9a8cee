#include "common/ir/stable_vector.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

TEST(StableVector, ElementsStayWhereTheyAre) {
  StableVector<std::string> texts;
  std::vector<const std::string*> addresses;
  for (int i = 0; i < 200'000; ++i) {  // blocks in huge pages, too
    addresses.push_back(
        &texts.emplace_back(std::to_string(i) + " is too long for the object itself"));
  }
  ASSERT_EQ(texts.size(), addresses.size());
  size_t index = 0;
  for (const std::string& text : texts) {
    ASSERT_EQ(&text, addresses[index]);
    ASSERT_EQ(&texts[index], addresses[index]);
    ASSERT_TRUE(text.starts_with(std::to_string(index) + " ")) << index;
    ++index;
  }
  EXPECT_EQ(index, texts.size());
}

TEST(StableVector, MovingTakesTheElementsAlong) {
  StableVector<std::string> from;
  EXPECT_TRUE(from.begin() == from.end());
  const std::string* first = &from.emplace_back("first");
  StableVector<std::string> to;
  to.emplace_back("gone");
  to = std::move(from);
  ASSERT_EQ(to.size(), 1u);
  EXPECT_EQ(&to[0], first);
  EXPECT_EQ(to[0], "first");
}

TEST(StableVector, GrowsAtEveryEndOfABlock) {
  for (size_t size = 0; size < 70; ++size) {
    StableVector<int> numbers;
    for (size_t i = 0; i < size; ++i) numbers.emplace_back(static_cast<int>(i));
    int expected = 0;
    for (const int number : numbers) ASSERT_EQ(number, expected++);
    ASSERT_EQ(static_cast<size_t>(expected), size);
  }
}

}  // namespace
}  // namespace sluice
