#include "common/base/options.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Options, DefaultsAreNotStored) {
  Options options;
  ASSERT_TRUE(options.set("profile", "cpu-avx2").ok());
  ASSERT_TRUE(options.set("threads", "4").ok());
  EXPECT_EQ(options.semantic().size(), 1u);
  ASSERT_TRUE(options.set("profile", "native").ok());
  EXPECT_TRUE(options.semantic().empty());
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

TEST(Options, AValueNamesSomething) {
  Options options;
  for (const char* nothing : {";;;", ",", " "}) {
    EXPECT_EQ(options.set("input-shape", nothing).error().code, ErrorCode::kBadOption) << nothing;
    EXPECT_EQ(options.set("passes", nothing).error().code, ErrorCode::kBadOption) << nothing;
  }
  EXPECT_TRUE(options.set("input-shape", "x:").ok());  // a scalar
}

TEST(Options, ANumberMayHaveAMinimumBelowZero) {
  Options options;
  EXPECT_TRUE(options.set("static-model-ops-lower-limit", "-1").ok());
  EXPECT_EQ(options.text("static-model-ops-lower-limit"), "-1");
  EXPECT_TRUE(options.set("static-model-ops-lower-limit", "9223372036854775807").ok());
  for (const char* bad : {"", "-2", "9223372036854775808", "4.5", "4x"}) {
    EXPECT_EQ(options.set("static-model-ops-lower-limit", bad).error().code, ErrorCode::kBadOption)
        << bad;
  }
  EXPECT_EQ(options.set("static-model-ops-lower-limit", "-2").error().message,
            "--static-model-ops-lower-limit is '-2', expected a whole number from -1 to "
            "9223372036854775807");
  EXPECT_EQ(options.inherit({{"host-scheduling-max-threshold", "-1"}}).error().code,
            ErrorCode::kBadFile);
}

TEST(Options, BadValuesNameTheOption) {
  Options options;
  EXPECT_EQ(options.set("colour", "red").error().code, ErrorCode::kBadOption);
  EXPECT_EQ(options.set("threads", "many").error().message,
            "--threads is 'many', expected a whole number from 0 to 1024");
  EXPECT_EQ(options.set("threads", "").error().code, ErrorCode::kBadOption);
  EXPECT_EQ(options.set("verify", "foo").error().message,
            "--verify is 'foo', expected each, end or segments");
  EXPECT_EQ(options.set("denormals", "ieeee").error().message,
            "--denormals is 'ieeee', expected flush or ieee");
  EXPECT_TRUE(options.set("denormals", "ieee").ok());
  EXPECT_EQ(options.inherit({{"opt-level", "O2"}}).error().code, ErrorCode::kBadFile);
}

}  // namespace
}  // namespace sluice
