#include "common/base/options.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Options, DefaultsAreNotStored) {
  Options options;
  ASSERT_TRUE(options.set("profile", "cpu-avx2").ok());
  ASSERT_TRUE(options.set("threads", "4").ok());
  EXPECT_EQ(options.meaning().size(), 1u);
  ASSERT_TRUE(options.set("profile", "native").ok());
  EXPECT_TRUE(options.meaning().empty());
  EXPECT_EQ(options.text("profile"), "native");
}

TEST(Options, InheritKeepsOwnValues) {
  Options options;
  ASSERT_TRUE(options.set("profile", "cpu-avx2").ok());
  ASSERT_TRUE(options.inherit({{"profile", "cpu-generic"}, {"dim", "N=1"}}).ok());
  EXPECT_EQ(options.text("profile"), "cpu-avx2");
  EXPECT_EQ(options.text("dim"), "N=1");
  EXPECT_FALSE(options.inherit({{"threads", "3"}}).ok());
}

TEST(Options, BadValuesNameTheOption) {
  Options options;
  EXPECT_EQ(options.set("colour", "red").error().code, ErrorCode::kBadOption);
  ASSERT_TRUE(options.set("threads", "many").ok());
  EXPECT_NE(options.integer("threads", 0, 64).error().message.find("--threads is 'many'"), std::string::npos);
}

}  // namespace
}  // namespace sluice
