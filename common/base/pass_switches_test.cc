#include "common/base/pass_switches.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(PassSwitches, AListIsSortedByName) {
  const auto switches = parse_switch_list("fuse-gelu:on;ALL:off;;mine.rules:off;fuse-gelu:on;");
  ASSERT_TRUE(switches.ok()) << switches.error().message;
  EXPECT_EQ(switch_lines(*switches), "ALL off\nfuse-gelu on\nmine.rules off\n");
  const auto again = parse_switch_lines(switch_lines(*switches));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(*again, *switches);
  EXPECT_TRUE(parse_switch_list("").value().empty());
}

TEST(PassSwitches, NamesOfEveryStageAreKnown) {
  for (const char* name : {"infer-types", "fuse-gelu", "cut-subgraphs", "lower-subgraphs",
                           "plan-memory", "ALL", "my passes.rules"})
    EXPECT_TRUE(check_switch_name(name).ok()) << name;
}

TEST(PassSwitches, MistakesAreNamed) {
  const struct {
    const char *list, *message, *hint;
  } rows[] = {
      {"fuse-gelu", "'fuse-gelu' is no switch, expected PASS:on or PASS:off", ""},
      {"fuse-gelu=on", "'fuse-gelu=on' is no switch, expected PASS:on or PASS:off", ""},
      {"fuse-gelu:", "'fuse-gelu' is '', expected on or off", ""},
      {"fuse-gelu:On", "'fuse-gelu' is 'On', expected on or off", ""},
      {"fuse-gelu:on;fuse-gelu:off", "'fuse-gelu' is both on and off", ""},
      {"fuse-gelo:on", "no stage has the pass 'fuse-gelo'", "did you mean 'fuse-gelu'?"},
      {":on", "no stage has the pass ''",
       "sluice STAGE --list-passes prints the passes of a stage, such as optimize; ALL is all of "
       "them"},
  };
  for (const auto& row : rows) {
    const auto switches = parse_switch_list(row.list);
    ASSERT_FALSE(switches.ok()) << row.list;
    EXPECT_EQ(switches.error().code, ErrorCode::kBadOption);
    EXPECT_EQ(switches.error().message, row.message);
    EXPECT_EQ(switches.error().hint, row.hint);
  }
}

}  // namespace
}  // namespace sluice
