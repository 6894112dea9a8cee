#include "orchestrator/store/remote_url.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RemoteUrl, HasNoLoginInItsBase) {
  const auto url = parse_remote_url("https://me:p%40ss%2f:1@host:8080/a/b//");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->base, "https://host:8080/a/b");
  EXPECT_EQ(url->user, "me");
  EXPECT_EQ(url->password, "p@ss/:1");
  EXPECT_EQ(url->with_login(), "https://me:p%40ss%2F%3A1@host:8080/a/b");
}

TEST(RemoteUrl, IsThatOfTheHostAlone) {
  const auto url = parse_remote_url("http://[::1]:80");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->base, "http://[::1]:80");
  EXPECT_EQ(url->with_login(), "http://[::1]:80");
}

TEST(RemoteUrl, RefusesWhatIsNoneWithoutShowingALogin) {
  for (const char* text : {"", "host/a", "ftp://me:secret@host/", "http://", "http://me:secret@",
                           "http://me:secret@/a", "me:secret@host/a", "http://me:secret%4@host/a",
                           "http://me:secret%00@host/a", "http://me:secret@host/a b",
                           "http://me:secret@host/?a", "http://me:secret@host/#a"}) {
    const auto url = parse_remote_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.error().code, ErrorCode::kBadOption);
    EXPECT_THAT(url.error().message, HasSubstr("expected http:// or https://"));
    EXPECT_THAT(url.error().message, Not(HasSubstr("secret"))) << text;
  }
}

}  // namespace
}  // namespace sluice
