#include "common/base/near_names.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

constexpr std::string_view kNames[] = {"fold-constants", "fold-conditions", "fuse-gelu",
                                       "fuse-mish"};

TEST(NearNames, TheNearestIsFirst) {
  EXPECT_THAT(near_names("fuse-gel", kNames), testing::ElementsAre("fuse-gelu"));
  EXPECT_THAT(near_names("fold-constant", kNames),
              testing::ElementsAre("fold-constants", "fold-conditions"));
  EXPECT_TRUE(near_names("something-else", kNames).empty());
  EXPECT_TRUE(near_names("", kNames).empty());
}

TEST(NearNames, HintsAreQuestionsOrSomethingElse) {
  EXPECT_EQ(near_names_hint("fold-constant", kNames, "no"),
            "did you mean 'fold-constants' or 'fold-conditions'?");
  EXPECT_EQ(near_names_hint("red", kNames, "no"), "no");
}

}  // namespace
}  // namespace sluice
