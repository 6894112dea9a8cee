#include "common/pass/choose_passes.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

// The names are those of passes, which switches must know; the levels are the test's own.
constexpr Pass kPasses[] = {{"infer-types", "", nullptr, PassLevel::kO0},
                            {"fold-constants", "", nullptr, PassLevel::kO1},
                            {"fuse-gelu", "", nullptr, PassLevel::kO3},
                            {"fuse-mish", "", nullptr, PassLevel::kO3}};
constexpr std::string_view kInfer = "infer-types ", kFold = "fold-constants ", kGelu = "fuse-gelu ",
                           kMish = "fuse-mish ";

using Given = std::map<std::string_view, std::string_view>;

Result<std::vector<const Pass*>> chosen_by(const Given& given) {
  Options options;
  for (const auto& [name, value] : given) EXPECT_TRUE(options.set(name, value).ok()) << value;
  return choose_passes(kPasses, options);
}

std::string names_by(const Given& given) {
  const auto chosen = chosen_by(given);
  if (!chosen) return chosen.error().message;
  std::string names;
  for (const Pass* pass : *chosen) names.append(pass->name).append(" ");
  return names;
}

std::string joined(std::initializer_list<std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text.append(name);
  return text;
}

constexpr std::string_view kSwitch = "optimization-switch", kFile = "fusion-switch-file";

TEST(ChoosePasses, ASwitchIsMoreThanTheLevel) {
  EXPECT_EQ(names_by({{"opt-level", "O0"}}), kInfer);
  EXPECT_EQ(names_by({{"opt-level", "O0"}, {kSwitch, "fuse-mish:on"}}), joined({kInfer, kMish}));
  EXPECT_EQ(names_by({{kSwitch, "fold-constants:off"}}), joined({kInfer, kGelu, kMish}));
  EXPECT_EQ(names_by({{kSwitch, "infer-types:off;plan-memory:off"}}),
            joined({kFold, kGelu, kMish}));
  EXPECT_EQ(names_by({{kFile, "fuse-gelu off\n"}}), joined({kInfer, kFold, kMish}));
}

TEST(ChoosePasses, AllAreTheRewritesOrAllPasses) {
  EXPECT_EQ(names_by({{kSwitch, "ALL:off"}}), joined({kInfer, kFold}));
  EXPECT_EQ(names_by({{kFile, "ALL off\nfuse-gelu on\n"}}), joined({kInfer, kFold, kGelu}));
  EXPECT_EQ(names_by({{"opt-level", "O0"}, {kSwitch, "ALL:on;fuse-gelu:off"}}),
            joined({kInfer, kFold, kMish}));
  EXPECT_EQ(names_by({{"opt-level", "O0"}, {kSwitch, "ALL:off"}}), kInfer);
}

TEST(ChoosePasses, TheOptionIsMoreThanTheFile) {
  EXPECT_EQ(names_by({{kFile, "fuse-gelu off\nfuse-mish off\n"}, {kSwitch, "fuse-gelu:on"}}),
            joined({kInfer, kFold, kGelu}));
  EXPECT_EQ(names_by({{kFile, "fuse-gelu on\n"}, {kSwitch, "ALL:off"}}), joined({kInfer, kFold}));
  EXPECT_EQ(names_by({{kFile, "ALL off\n"}, {kSwitch, "ALL:on"}}),
            joined({kInfer, kFold, kGelu, kMish}));
  // ALL:off says nothing of a pass of level O1.
  EXPECT_EQ(names_by({{kFile, "fold-constants off\n"}, {kSwitch, "ALL:off"}}), kInfer);
}

TEST(ChoosePasses, SkipLeavesOutWhatAllTurnsOn) {
  EXPECT_EQ(names_by({{"skip", "fuse-gelu"}, {kSwitch, "ALL:on"}}), joined({kInfer, kFold, kMish}));
  EXPECT_EQ(names_by({{"skip", "fuse-gelu"}, {kSwitch, "fuse-gelu:off"}}),
            joined({kInfer, kFold, kMish}));
  EXPECT_EQ(names_by({{"skip", "fuse-gelu"}, {kSwitch, "fuse-gelu:on"}}),
            "--optimization-switch turns 'fuse-gelu' on and --skip leaves it out");
  EXPECT_EQ(names_by({{"skip", "fuse-gelu"}, {kFile, "fuse-gelu on\n"}}),
            "--fusion-switch-file turns 'fuse-gelu' on and --skip leaves it out");
}

TEST(ChoosePasses, ExactPassesBearNoSwitchOfThisStage) {
  EXPECT_EQ(names_by({{"passes", "fuse-gelu"}, {kSwitch, "ALL:off;plan-memory:off"}}), kGelu);
  EXPECT_EQ(names_by({{"passes", "fuse-gelu"}, {kFile, "fuse-mish off\n"}}),
            "--fusion-switch-file has 'fuse-mish' beside --passes, which says exactly what runs");
}

TEST(ChoosePasses, SwitchesThatAGraphCarriesAreChecked) {
  const auto chosen = chosen_by({{kFile, "fuse-gelu maybe\n"}});
  ASSERT_FALSE(chosen.ok());
  EXPECT_EQ(chosen.error().code, ErrorCode::kBadFile);
}

}  // namespace
}  // namespace sluice
