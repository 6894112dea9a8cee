#include "stages/build/plan_memory/buffer_rows.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

namespace sluice {
namespace {

using std::string_view_literals::operator""sv;

std::string error_of(const std::string& rows) {
  const auto read = read_buffer_rows("id,lower,upper,size\n" + rows, "a.csv");
  return read ? "" : read.error().message;
}

TEST(BufferRows, LinesEndInLfOrCrlf) {
  for (const std::string text : {"id,lower,upper,size\na b,0,3,64\n\"c\",2,4,0\n",
                                 "id,lower,upper,size\r\na b,0,3,64\r\n\"c\",2,4,0\r\n",
                                 "\xEF\xBB\xBFid,lower,upper,size\na b,0,3,64\n\"c\",2,4,0"}) {
    const auto rows = read_buffer_rows(text, "a.csv");
    ASSERT_TRUE(rows.ok());
    ASSERT_EQ(rows->buffers.size(), 2u);
    EXPECT_EQ(rows->buffers[0].first, 0);
    EXPECT_EQ(rows->buffers[0].last, 2);
    EXPECT_EQ(rows->buffers[0].bytes, 64u);
    EXPECT_EQ(rows->ids[1], "\"c\"");
    EXPECT_EQ(rows_with_offsets(*rows, {0, 64}),
              "id,lower,upper,size,offset\na b,0,3,64,0\n\"c\",2,4,0,64\n");
  }
}

TEST(BufferRows, OfAHeaderAloneAreNone) {
  EXPECT_TRUE(read_buffer_rows("id,lower,upper,size", "a.csv")->buffers.empty());
}

TEST(BufferRows, ErrorsNameTheLineAndTheValue) {
  EXPECT_EQ(read_buffer_rows("", "a.csv").error().message,
            "a.csv:1: the file is empty, expected the header 'id,lower,upper,size'");
  EXPECT_EQ(read_buffer_rows("a,0,1,2\n", "a.csv").error().message,
            "a.csv:1: the header is 'a,0,1,2', expected 'id,lower,upper,size'");
  EXPECT_EQ(error_of("a,0,1,2\n\n"), "a.csv:3: '' has 1 column, expected 4: id,lower,upper,size");
  EXPECT_EQ(error_of("a,0,1,2,3"),
            "a.csv:2: 'a,0,1,2,3' has 5 columns, expected 4: id,lower,upper,size");
  const std::string range = "it must be a whole number from 0 to 9223372036854775807";
  EXPECT_EQ(error_of("a,-1,1,2"), "a.csv:2: lower is '-1', " + range);
  EXPECT_EQ(error_of("a,0,1e3,2"), "a.csv:2: upper is '1e3', " + range);
  EXPECT_EQ(error_of("a,0,1,"), "a.csv:2: size is '', " + range);
  EXPECT_EQ(error_of("a,0,9223372036854775808,2"),
            "a.csv:2: upper is '9223372036854775808', " + range);
  EXPECT_EQ(error_of("a,3,3,2"), "a.csv:2: upper is 3, it must be above lower, 3");
  EXPECT_EQ(error_of("a,0,1,2\nb,0,1,2\na,0,1,2"),
            "a.csv:4: id 'a' is that of line 2, each must be its own");
  EXPECT_EQ(error_of("a,0,1,9223372036854775807\nb,2,3,1"),
            "a.csv:3: size is 1, with it the sizes sum up to more than 9223372036854775807");
}

// Damaged text is read or refused, and what is read keeps its promises.
TEST(BufferRows, OfDamagedTextAreSound) {
  const std::string whole = "id,lower,upper,size\na,0,3,64\nb,2,4,9223372036854775743\nc,1,2,3\n";
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    std::string text = whole;
    for (size_t change = 0; change <= random() % 3; ++change) {
      constexpr std::string_view kBytes = "0123456789,-\r\n\"ab\0"sv;
      text[20 + random() % (text.size() - 20)] = kBytes[random() % kBytes.size()];
    }
    const auto rows = read_buffer_rows(text, "a.csv");
    if (!rows) continue;
    for (const Buffer& buffer : rows->buffers) EXPECT_LE(buffer.first, buffer.last);
  }
}

}  // namespace
}  // namespace sluice
