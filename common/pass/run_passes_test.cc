#include <gtest/gtest.h>

#include "common/ir/module.h"
#include "common/pass/pass.h"
#include "common/text/text.h"

namespace sluice {
namespace {

constexpr char kGraph[] = R"(sluice 1 typed after preprocess
graph @main(%x: f32[2, 3]) -> (%y) {
  %a: f32[2, 3] = Relu(%x)
  %y: f32[2, 3] = Neg(%a)
}
)";

Result<bool> leave_alone(Graph&, const Options&) { return false; }

Result<bool> take_type_away(Graph& graph, const Options&) {
  graph.first_node()->output().set_type(Type{});
  return true;
}

Result<bool> take_type_away_secretly(Graph& graph, const Options& options) {
  SLUICE_TRY(take_type_away(graph, options));
  return false;
}

Result<bool> make_cycle(Graph& graph, const Options&) {
  Node& first = *graph.first_node();
  first.set_input(0, &first.output().uses().front().node->output());
  return true;
}

Result<bool> fail(Graph&, const Options&) {
  return make_error(ErrorCode::kBadShape, "node 'n': no");
}

// Returns the error of one pass between two that do nothing.
Result<std::vector<PassReport>> run_between(Result<bool> (*pass)(Graph&, const Options&),
                                            std::string_view verify) {
  auto module = parse_module(kGraph, "test");
  EXPECT_TRUE(module.ok());
  Options options;
  EXPECT_TRUE(options.set("verify", verify).ok());
  const Pass passes[] = {
      {"before", "", leave_alone}, {"suspect", "", pass}, {"behind", "", leave_alone}};
  return run_passes(*module, passes, options);
}

TEST(RunPasses, VerifyEachNamesThePassThatBrokeTheGraph) {
  const auto ran = run_between(take_type_away, "each");
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, ErrorCode::kInternal);
  EXPECT_TRUE(ran.error().message.starts_with("after pass suspect: ")) << ran.error().message;
}

TEST(RunPasses, VerifyEachDoesNotTrustTheChangedBit) {
  const auto ran = run_between(take_type_away_secretly, "each");
  ASSERT_FALSE(ran.ok());
  EXPECT_NE(ran.error().message.find("pass suspect"), std::string::npos) << ran.error().message;
}

TEST(RunPasses, OtherwiseTheStageVerifiesAtItsEnd) {
  for (const std::string_view when : {"end", "segments"})
    EXPECT_TRUE(run_between(take_type_away, when).ok()) << when;
}

TEST(RunPasses, ACycleIsOursWhenAPassMadeIt) {
  for (const std::string_view when : {"end", "each"}) {
    const auto ran = run_between(make_cycle, when);
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().code, ErrorCode::kInternal);
    EXPECT_TRUE(ran.error().message.starts_with("after pass suspect: ")) << ran.error().message;
  }
}

// A separate pass adds the types, and a missing type is not an error before it has run.
TEST(RunPasses, VerifyEachKnowsThatPreprocessIsUnfinished) {
  auto module = parse_module(kGraph, "test");
  ASSERT_TRUE(module.ok());
  module->last_stage = StageId::kNone;
  module->root().first_node()->output().set_type(Type{});
  Options options;
  ASSERT_TRUE(options.set("verify", "each").ok());
  constexpr auto give_type = [](Graph& graph, const Options&) -> Result<bool> {
    graph.first_node()->output().set_type(graph.inputs()[0]->type());
    return true;
  };
  const Pass passes[] = {
      {"before", "", leave_alone}, {"give-type", "", give_type}, {"behind", "", leave_alone}};
  EXPECT_TRUE(run_passes(*module, passes, options).ok());
  module->root().first_node()->output().set_type(Type{});
  const Pass without[] = {{"before", "", leave_alone}, {"last", "", leave_alone}};
  const auto ran = run_passes(*module, without, options);
  ASSERT_FALSE(ran.ok());
  EXPECT_TRUE(ran.error().message.starts_with("after pass last: ")) << ran.error().message;
}

TEST(RunPasses, ErrorsOfAPassKeepTheirCode) {
  const auto ran = run_between(fail, "each");
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, ErrorCode::kBadShape);
  EXPECT_EQ(ran.error().message, "suspect: node 'n': no");
}

}  // namespace
}  // namespace sluice
