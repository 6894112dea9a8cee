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

TEST(JsonText, QuoteSurvivesBadUtf8) { EXPECT_EQ(json_quote("a\"\xff"), "\"a\\\"\xef\xbf\xbd\""); }

}  // namespace
}  // namespace sluice
