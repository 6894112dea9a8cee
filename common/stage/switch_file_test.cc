#include "common/stage/switch_file.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(SwitchFile, SwitchesOfBothSectionsTravelSorted) {
  const auto lines = fusion_switch_lines(
      R"({"Switch": {"GraphFusion": {"fuse-gelu": "on", "ALL": "off", "own.rules": "off"},
                     "UBFusion": {"ALL": "off", "fuse-elementwise": "on"}}})");
  ASSERT_TRUE(lines.ok()) << lines.error().message;
  EXPECT_EQ(*lines, "ALL off\nfuse-elementwise on\nfuse-gelu on\nown.rules off\n");
  for (const char* nothing : {R"({"Switch": {}})", R"({"Switch": {"GraphFusion": {}}})"})
    EXPECT_EQ(fusion_switch_lines(nothing).value(), "");
}

TEST(SwitchFile, MistakesNameTheKey) {
  const struct {
    const char *text, *message;
  } rows[] = {
      {"[]", "this is no object"},
      {"null", "this is no object"},
      {"{}", "'Switch' is missing"},
      {R"({"Switches": {}})", "'Switches' is unknown, expected Switch"},
      {R"({"Switch": 1})", "'Switch' is no object"},
      {R"({"Switch": {"GraphFusion": []}})", "'Switch.GraphFusion' is no object"},
      {R"({"Switch": {"Fusion": {}}})",
       "'Switch.Fusion' is unknown, expected GraphFusion or UBFusion"},
      {R"({"Switch": {"GraphFusion": {"fuse-gelu": true}}})",
       "'Switch.GraphFusion.fuse-gelu' is true, expected \"on\" or \"off\""},
      {R"({"Switch": {"GraphFusion": {"fuse-gelu": "ON"}}})",
       "'Switch.GraphFusion.fuse-gelu': 'fuse-gelu' is 'ON', expected on or off"},
      {R"({"Switch": {"UBFusion": {"gelu": "on"}}})",
       "'Switch.UBFusion.gelu': no stage has the pass 'gelu'"},
      {R"({"Switch": {"GraphFusion": {"ALL": "on"}, "UBFusion": {"ALL": "off"}}})",
       "'Switch.UBFusion.ALL': 'ALL' is both on and off"},
  };
  for (const auto& row : rows) {
    const auto lines = fusion_switch_lines(row.text);
    ASSERT_FALSE(lines.ok()) << row.text;
    EXPECT_EQ(lines.error().code, ErrorCode::kBadJson);
    EXPECT_EQ(lines.error().message, row.message);
    EXPECT_NE(lines.error().hint, "") << row.text;
  }
  EXPECT_EQ(fusion_switch_lines("{").error().code, ErrorCode::kBadJson);
}

}  // namespace
}  // namespace sluice
