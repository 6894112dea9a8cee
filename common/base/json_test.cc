#include "common/base/json.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(JsonText, RoundTripsInOrder) {
  const std::string text = R"({"z":1,"a":[true,null,"x\n"],"f":0.5})";
  EXPECT_EQ(json_dump(json_parse(text).value()), text);
}

TEST(JsonText, BadTextIsAnError) {
  EXPECT_EQ(json_parse("{\"a\":").error().code, ErrorCode::kBadJson);
  EXPECT_EQ(json_parse("").error().code, ErrorCode::kBadJson);
}

TEST(JsonText, AKeyThatIsThereTwiceIsAnError) {
  EXPECT_TRUE(json_parse(R"([{"a": {"a": 1}, "b": {"a": 2}}, {"a": 3}])").ok());
  for (const auto& [text, key] :
       {std::pair(R"({"a": {"b": 1}, "c": [], "a": 2})", "a"),
        std::pair(R"([{"a": [{"b": 1, "b": 1}]}])", "b"), std::pair(R"({"": 1, "": 1})", "")}) {
    auto json = json_parse(text);
    ASSERT_FALSE(json.ok()) << text;
    EXPECT_EQ(json.error().code, ErrorCode::kBadJson);
    EXPECT_EQ(json.error().message,
              fmt::format("the key '{}' is there twice in one object, expected once", key));
  }
}

TEST(JsonText, QuoteSurvivesBadUtf8) { EXPECT_EQ(json_quote("a\"\xff"), "\"a\\\"\xef\xbf\xbd\""); }

TEST(Json, DeepNestingIsRefused) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(json_parse(nested(100)).ok());
  for (const size_t depth : {size_t{102}, size_t{1'000'000}}) {
    auto json = json_parse(nested(depth));
    ASSERT_FALSE(json.ok());
    EXPECT_EQ(json.error().code, ErrorCode::kBadJson);
    EXPECT_EQ(json.error().message, "lists and objects lie more than 100 deep in each other");
  }
}

TEST(Json, NumbersAboveInt64AreReals) {
  auto json = json_parse("[9223372036854775807, 9223372036854775808]");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(*(*json->as_array())[0].as_int(), INT64_MAX);
  EXPECT_EQ((*json->as_array())[1].as_int(), nullptr);
  EXPECT_EQ((*json->as_array())[1].number(), 9223372036854775808.0);
}

}  // namespace
}  // namespace sluice
