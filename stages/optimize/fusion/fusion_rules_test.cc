// Our own rules are checked here, and never when the programs start.
#include "stages/optimize/fusion/fusion_rules.h"

#include <gtest/gtest.h>

#include "common/rules/check_rules.h"
#include "common/rules/rule_parser.h"

namespace sluice {
namespace {

class FusionRules : public testing::TestWithParam<const char*> {};

TEST_P(FusionRules, ComputeTheSame) {
  const auto file = rules::parse_rules(GetParam(), "own.rules");
  ASSERT_TRUE(file.ok()) << error_text(file.error());
  const auto checks = rules::check_rules(*file);
  ASSERT_TRUE(checks.ok()) << error_text(checks.error());
  for (const rules::RuleCheck& check : *checks) EXPECT_GE(check.instances, 12u) << check.rule;
}

INSTANTIATE_TEST_SUITE_P(All, FusionRules,
                         testing::Values(kFuseGeluRules, kFuseHardSwishRules, kFuseMishRules,
                                         kFuseSoftmaxRules, kFuseSwishRules));

}  // namespace
}  // namespace sluice
