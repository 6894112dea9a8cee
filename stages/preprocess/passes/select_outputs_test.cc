#include <gtest/gtest.h>

#include "stages/preprocess/testing/after_pass.h"

namespace sluice {
namespace {

constexpr const char* kHalves = R"(graph @main(%x: f32[2, 4]) -> (%y) {
  %a: f32[2, 4] = Neg(%x) name "negate"
  %b: f32[2, 2], %c: f32[2, 2] = Split(%a) {axis = 1, num_outputs = 2} name "halves"
  %y: f32[2, 2] = Add(%b, %c) name "sum"
}
)";

std::string selected(const std::string& names) {
  Options options;
  EXPECT_TRUE(options.set("out-nodes", names).ok());
  return after_pass(select_outputs, kHalves, options);
}

TEST(SelectOutputs, NothingAskedNothingChanged) { EXPECT_EQ(selected(""), "unchanged"); }

TEST(SelectOutputs, ByValueAndByNode) {
  EXPECT_EQ(selected("a"), R"(graph @main(%x: f32[2, 4]) -> (%a) {
  %a: f32[2, 4] = Neg(%x) name "negate"
}
)");
  EXPECT_EQ(selected("halves:1;a"), R"(graph @main(%x: f32[2, 4]) -> (%c, %a) {
  %a: f32[2, 4] = Neg(%x) name "negate"
  %b: f32[2, 2], %c: f32[2, 2] = Split(%a) {axis = 1, num_outputs = 2} name "halves"
}
)");
}

TEST(SelectOutputs, UnknownNamesListTheNearest) {
  Options options;
  ASSERT_TRUE(options.set("out-nodes", "halve:1").ok());
  auto module = parse_module(std::string("sluice 1 typed\n") + kHalves, "test");
  ASSERT_TRUE(module.ok());
  const auto result = select_outputs(module->root(), options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kBadOption);
  EXPECT_NE(result.error().hint.find("node 'halves' with 2 results"), std::string::npos);
}

}  // namespace
}  // namespace sluice
