// Scenarios 51 to 55 of the catalogue.
#include "common/pass/pattern_matcher.h"

#include <gtest/gtest.h>

#include <cstring>

#include "common/text/text.h"

namespace sluice {
namespace {

Module parsed(const std::string& body) {
  auto module = parse_module("sluice 1 typed\n" + body, "test");
  EXPECT_TRUE(module.ok()) << (module ? "" : error_text(module.error()));
  return module ? std::move(module).value() : Module();
}

// Returns the names of the values that matched the pattern's outputs, match by match.
std::vector<std::string> matches(const Pattern& pattern, const Graph& graph,
                                 MatchOptions options = {}) {
  const OpIndex index(graph);
  PatternMatcher matcher(pattern, index, options);
  std::vector<std::string> found;
  while (const auto match = matcher.match_next()) {
    std::string names;
    for (const Value* output : match->boundary().outputs)
      names += (names.empty() ? "" : " ") + output->name();
    found.push_back(names);
  }
  EXPECT_FALSE(matcher.match_next().has_value()) << "the end is the end";
  return found;
}

using Names = std::vector<std::string>;

Pattern relu_pattern() {
  Pattern pattern;
  pattern.output(pattern.node(Op::kRelu, {&pattern.input("x")}));
  return pattern;
}

TEST(Scenario51, OneOpOnceIsOneMatchThenTheEnd) {
  const Module module = parsed(R"(graph @main(%x: f32[2]) -> (%y) {
  %a: f32[2] = Exp(%x)
  %y: f32[2] = Relu(%a)
}
)");
  EXPECT_EQ(matches(relu_pattern(), module.root()), (Names{"y"}));
}

// Output 0 (Exp) has more candidates than output 1 (Relu), and the first of them has none at all.
TEST(Scenario51, AllMatchesAreFoundWhenOutputOneRunsOutFirst) {
  const Module module = parsed(R"(graph @main(%x: f32[2], %z: f32[2]) -> (%a, %b, %c, %d, %e) {
  %a: f32[2] = Exp(%z)
  %b: f32[2] = Exp(%x)
  %c: f32[2] = Relu(%x)
  %d: f32[2] = Exp(%x)
  %e: f32[2] = Relu(%x)
}
)");
  Pattern pattern;
  Value& x = pattern.input("x");
  pattern.output(pattern.node(Op::kExp, {&x}));
  pattern.output(pattern.node(Op::kRelu, {&x}));
  EXPECT_EQ(matches(pattern, module.root()), (Names{"b c", "b e", "d c", "d e"}));
}

// The second output reads no value of the first, so its candidates come from the index.
TEST(Scenario51, UnconnectedOutputs) {
  const Module module = parsed(R"(graph @main(%x: f32[2]) -> (%a, %b, %c) {
  %a: f32[2] = Exp(%x)
  %b: f32[2] = Exp(%x)
  %c: f32[2] = Relu(%x)
}
)");
  Pattern pattern;
  pattern.output(pattern.node(Op::kRelu, {&pattern.input()}));
  pattern.output(pattern.node(Op::kExp, {&pattern.input()}));
  EXPECT_EQ(matches(pattern, module.root()), (Names{"c a", "c b"}));
}

TEST(Scenario52, ConstantsByValueOrAny) {
  const Module module = parsed(R"(graph @main(%x: f32[2], %k: f32[]) -> (%y, %z, %v) {
  %two = constant f32[] [2]
  %shaped = constant f32[1] [3]
  %y: f32[2] = Mul(%x, %two)
  %z: f32[2] = Mul(%x, %k)
  %v: f32[2] = Mul(%x, %shaped)
}
)");
  const auto pattern_with = [](float number) {
    Pattern pattern;
    std::vector<std::byte> bytes(sizeof(float));
    std::memcpy(bytes.data(), &number, sizeof(float));
    const TypeId type = pattern.module().intern(Type::fixed_tensor(DType::kF32, {}));
    Value& constant = pattern.constant(pattern.module().make_constant(type, bytes));
    pattern.output(pattern.node(Op::kMul, {&pattern.input(), &constant}));
    return pattern;
  };
  EXPECT_EQ(matches(pattern_with(3), module.root(), {.constant_values = true}), Names{});
  EXPECT_EQ(matches(pattern_with(2), module.root(), {.constant_values = true}), (Names{"y"}));
  EXPECT_EQ(matches(pattern_with(3), module.root()), (Names{"y", "v"}));
}

TEST(Scenario52, SplatsEqualWhatTheySpell) {
  const Module module = parsed(R"(graph @main(%x: f32[2]) -> (%y) {
  %two = constant f32[2] splat 2
  %y: f32[2] = Mul(%x, %two)
}
)");
  const auto pattern_of = [](const char* constant) {
    return Pattern::from_text(fmt::format("sluice 1 typed\ngraph @p(%x) -> (%y) {{\n  %k = "
                                          "constant f32[2] {}\n  %y = Mul(%x, %k)\n}}\n",
                                          constant),
                              "pattern");
  };
  const auto same = pattern_of("[2, 2]"), other = pattern_of("[2, 3]");
  ASSERT_TRUE(same.ok() && other.ok());
  EXPECT_EQ(matches(*same, module.root(), {.constant_values = true}), (Names{"y"}));
  EXPECT_EQ(matches(*other, module.root(), {.constant_values = true}), Names{});
}

TEST(Scenario53, OneInputReadTwiceIsOneValue) {
  const Module module = parsed(R"(graph @main(%x: f32[2]) -> (%y, %z) {
  %a: f32[2] = Exp(%x)
  %b: f32[2] = Exp(%x)
  %y: f32[2] = Add(%a, %b)
  %z: f32[2] = Add(%a, %a)
}
)");
  Pattern pattern;
  Value& x = pattern.input();
  pattern.output(pattern.node(Op::kAdd, {&x, &x}));
  EXPECT_EQ(matches(pattern, module.root()), (Names{"z"}));
}

TEST(Scenario54, InvalidPatternsNeverMatch) {
  const Module module = parsed(R"(graph @main(%x: f32[2], %c: bool[]) -> (%y, %z, %w, %s, %t) {
  %y: f32[2] = Relu(%x)
  %z: f32[4] = Concat(%x, %x) {axis = 0}
  %w: f32[2] = If(%c) {else_branch = @e, then_branch = @t}
  %s: f32[1], %t: f32[1] = Split(%x) {num_outputs = 2}
}
graph @e() -> (%k) body {
  %k = constant f32[2] [1, 2]
}
graph @t() -> (%k) body {
  %k = constant f32[2] [3, 4]
}
)");
  const auto expect_refused = [&](const std::string& text, const std::string& why) {
    const auto pattern = Pattern::from_text("sluice 1 typed\n" + text, "pattern");
    ASSERT_TRUE(pattern.ok()) << error_text(pattern.error());
    EXPECT_NE(pattern->obstacle().find(why), std::string::npos) << pattern->obstacle();
    EXPECT_EQ(matches(*pattern, module.root()), Names{}) << text;
  };
  expect_refused("graph @p(%x) -> () {\n  %y = Relu(%x)\n}\n", "no output");
  expect_refused("graph @p(%x) -> (%x) {\n}\n", "no node's result");
  expect_refused("graph @p(%x) -> (%y) {\n  %a = Exp(%x)\n  %y = Relu(%x) after %a\n}\n",
                 "control edge");
  expect_refused("graph @p(%x) -> (%y) {\n  %y = Concat(%x, %x) {axis = 0}\n}\n",
                 "any number of inputs");
  expect_refused("graph @p(%x) -> (%y) {\n  %y, %z = Split(%x) {num_outputs = 2}\n}\n",
                 "any number of outputs");
  expect_refused(
      "graph @p(%c) -> (%y) {\n  %y = If(%c) {else_branch = @e, then_branch = @t}\n}\ngraph @e() "
      "-> (%k) body {\n"
      "  %k = constant f32[2] [1, 2]\n}\ngraph @t() -> (%k) body {\n  %k = constant f32[2] [3, "
      "4]\n}\n",
      "body");
  expect_refused("graph @p(%x, %u) -> (%y) {\n  %y = Relu(%x)\n}\n", "leads to no output");
  expect_refused("graph @p(%x) -> (%y) {\n  %y = Relu(%x)\n  %z = Exp(%x)\n}\n",
                 "leads to no output");
}

TEST(Scenario54, CyclesNeverMatch) {
  Pattern pattern;
  Value& a = pattern.node(Op::kRelu, {&pattern.input()});
  Value& b = pattern.node(Op::kExp, {&a});
  a.producer()->set_input(0, &b);
  pattern.output(b);
  EXPECT_NE(pattern.obstacle().find("cycle"), std::string::npos) << pattern.obstacle();
}

// Exp is read inside the match and by %z.
TEST(Scenario55, InteriorReadOutside) {
  const Module module = parsed(R"(graph @main(%x: f32[2]) -> (%y, %z) {
  %a: f32[2] = Exp(%x)
  %y: f32[2] = Relu(%a)
  %z: f32[2] = Neg(%a)
}
)");
  Pattern pattern;
  Value& a = pattern.node(Op::kExp, {&pattern.input()}, "a");
  pattern.output(pattern.node(Op::kRelu, {&a}));
  EXPECT_EQ(matches(pattern, module.root()), Names{});
  EXPECT_EQ(matches(pattern, module.root(), {.force = true}), (Names{"y"}));
  pattern.output(a);
  EXPECT_EQ(matches(pattern, module.root()), (Names{"y a"}));
}

TEST(Scenario55, InteriorThatIsAnOutputOfTheGraph) {
  const Module module = parsed(
      "graph @main(%x: f32[2]) -> (%y, %a) {\n  %a: f32[2] = Exp(%x)\n  %y: f32[2] = "
      "Relu(%a)\n}\n");
  Pattern pattern;
  pattern.output(pattern.node(Op::kRelu, {&pattern.node(Op::kExp, {&pattern.input()})}));
  EXPECT_EQ(matches(pattern, module.root()), Names{});
}

TEST(Scenario55, AttributesWithTheOption) {
  const Module module =
      parsed("graph @main(%x: f32[2]) -> (%y) {\n  %y: f32[2] = Elu(%x) {alpha = 2.0}\n}\n");
  Pattern pattern;
  Value& y = pattern.node(Op::kElu, {&pattern.input()});
  pattern.output(y);
  y.producer()->set_attribute("alpha", 1.0f);
  EXPECT_EQ(matches(pattern, module.root()), (Names{"y"}));
  EXPECT_EQ(matches(pattern, module.root(), {.attributes = true}), Names{});
  y.producer()->set_attribute("alpha", 2.0f);
  EXPECT_EQ(matches(pattern, module.root(), {.attributes = true}), (Names{"y"}));
}

TEST(PatternMatcher, CapturesAndCommutedInputs) {
  const Module module = parsed(R"(graph @main(%x: f32[2], %r: f32[2]) -> (%y) {
  %a: f32[2] = Exp(%x)
  %y: f32[2] = Add(%r, %a)
}
)");
  const auto pattern = Pattern::from_text(
      "sluice 1 typed\ngraph @p(%u, %other) -> (%sum) {\n  %e = Exp(%u)\n  %sum = Add(%e, "
      "%other)\n}\n",
      "p");
  ASSERT_TRUE(pattern.ok());
  EXPECT_EQ(matches(*pattern, module.root()), Names{});
  const OpIndex index(module.root());
  PatternMatcher matcher(*pattern, index, {.commuted = true});
  const auto match = matcher.match_next();
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->captured("e")->name(), "a");
  EXPECT_EQ(match->captured("other")->name(), "r");
  EXPECT_EQ(match->captured("nothing"), nullptr);
  EXPECT_FALSE(matcher.match_next().has_value());
}

// An input must not be made by the match itself.
TEST(PatternMatcher, InputsAreMadeOutside) {
  const Module module = parsed(
      "graph @main(%x: f32[2]) -> (%y) {\n  %a: f32[2] = Exp(%x)\n  %y: f32[2] = Add(%a, %a)\n}\n");
  Pattern pattern;
  pattern.output(
      pattern.node(Op::kAdd, {&pattern.node(Op::kExp, {&pattern.input()}), &pattern.input()}));
  EXPECT_EQ(matches(pattern, module.root()), Names{});
}

TEST(PatternMatcher, GoesOnWhileTheGraphIsRewritten) {
  Module module = parsed(R"(graph @main(%x: f32[2]) -> (%y) {
  %a: f32[2] = Relu(%x)
  %b: f32[2] = Relu(%a)
  %y: f32[2] = Relu(%b)
}
)");
  Pattern pattern;
  pattern.output(pattern.node(Op::kRelu, {&pattern.node(Op::kRelu, {&pattern.input()})}));
  const OpIndex index(module.root());
  PatternMatcher matcher(pattern, index);
  size_t found = 0;
  while (const auto match = matcher.match_next()) {
    Node& last = *match->boundary().outputs[0]->producer();
    Node& first = *last.input(0)->producer();
    last.set_input(0, first.input(0));
    module.root().erase_node(first);
    ++found;
  }
  EXPECT_EQ(found, 2u);
  EXPECT_EQ(module.root().node_count(), 1u);
}

TEST(PatternMatcher, LongChainIsLinear) {
  Module module;
  Graph& graph = module.add_graph("main");
  Value* value = &graph.add_input(0, "x");
  for (int i = 0; i < 100'000; ++i)
    value = &graph.add_node(i % 2 == 0 ? Op::kExp : Op::kRelu, {value}).output();
  graph.add_output(*value);
  Pattern pattern;
  pattern.output(pattern.node(Op::kRelu, {&pattern.node(Op::kExp, {&pattern.input()})}));
  EXPECT_EQ(matches(pattern, graph).size(), 50'000u);
}

}  // namespace
}  // namespace sluice
