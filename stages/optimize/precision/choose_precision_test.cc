#include <gtest/gtest.h>

#include "common/pass/pass.h"
#include "common/text/text.h"
#include "stages/optimize/precision/precision.h"

namespace sluice {
namespace {

struct Setting {
  std::string option, value;
};

Options options_of(const std::vector<Setting>& settings) {
  Options options;
  for (const Setting& setting : settings) {
    const auto set = options.set(setting.option, setting.value);
    EXPECT_TRUE(set.ok()) << error_text(set.error());
  }
  return options;
}

// Returns the text of the graph (without its first lines) after the pass, or that of an error. The
// pass must say truly whether it changed something, and the result must verify.
std::string text_after(const std::string& text, Options options) {
  auto module = parse_module("sluice 1 typed\n" + text, "test");
  if (!module.ok()) return error_text(module.error());
  module->compact();
  const std::string before = print_module(*module);
  constexpr Pass kTable[] = {{"pass", "the pass under test", choose_precision, PassLevel::kO0}};
  EXPECT_TRUE(options.set("verify", "each").ok());
  const auto report = run_passes(*module, kTable, options);
  if (!report) return error_text(report.error());
  module->compact();
  const std::string after = print_module(*module);
  EXPECT_EQ(report->at(0).changed, after != before) << after;
  return after.substr(after.find("graph @"));
}

void expect_precision(const std::vector<Setting>& settings, const std::string& before,
                      const std::string& after) {
  EXPECT_EQ(text_after(before, options_of(settings)), after);
  // Once is enough.
  EXPECT_EQ(text_after(after, options_of(settings)), after);
}

const std::string kProduct = R"(graph @main(%x: f32[2, 4]) -> (%y) {
  %w = constant f32[4, 4] splat 0.5
  %a: f32[2, 4] = MatMul(%x, %w) name "/a"
  %b: f32[2, 4] = Relu(%a) name "/b"
  %y: f32[2, 4] = Softmax(%b) name "/y"
}
)";

TEST(ChoosePrecisionTest, TheDefaultChangesNothing) { expect_precision({}, kProduct, kProduct); }

TEST(ChoosePrecisionTest, ForceCastsAtTheBordersAlone) {
  expect_precision({{"precision-mode", "force_fp16"}}, kProduct,
                   R"(graph @main(%x: f32[2, 4]) -> (%y) {
  %"w:f16" = constant f16[4, 4] splat 0.5
  %"x:f16": f16[2, 4] = Cast(%x) {to = 10}
  %a: f16[2, 4] = MatMul(%"x:f16", %"w:f16") name "/a"
  %b: f16[2, 4] = Relu(%a) name "/b"
  %"y:f16": f16[2, 4] = Softmax(%b) name "/y"
  %y: f32[2, 4] = Cast(%"y:f16") {to = 1}
}
)");
}

TEST(ChoosePrecisionTest, MixLowersProductsAndWhatFollowsThem) {
  expect_precision({{"precision-mode", "allow_mix_precision"}}, kProduct,
                   R"(graph @main(%x: f32[2, 4]) -> (%y) {
  %"w:f16" = constant f16[4, 4] splat 0.5
  %"x:f16": f16[2, 4] = Cast(%x) {to = 10}
  %a: f16[2, 4] = MatMul(%"x:f16", %"w:f16") name "/a"
  %"b:f16": f16[2, 4] = Relu(%a) name "/b"
  %b: f32[2, 4] = Cast(%"b:f16") {to = 1}
  %y: f32[2, 4] = Softmax(%b) name "/y"
}
)");
}

TEST(ChoosePrecisionTest, MixLeavesGrayNodesThatReadF32) {
  expect_precision({{"precision-mode", "allow_mix_precision_bf16"}},
                   R"(graph @main(%x: f32[2, 4], %w: f32[4, 4]) -> (%y) {
  %n: f32[2, 4] = Relu(%x)
  %a: f32[2, 4] = MatMul(%n, %w)
  %y: f32[2, 4] = Add(%a, %n)
}
)",
                   R"(graph @main(%x: f32[2, 4], %w: f32[4, 4]) -> (%y) {
  %"w:bf16": bf16[4, 4] = Cast(%w) {to = 16}
  %n: f32[2, 4] = Relu(%x)
  %"n:bf16": bf16[2, 4] = Cast(%n) {to = 16}
  %"a:bf16": bf16[2, 4] = MatMul(%"n:bf16", %"w:bf16")
  %a: f32[2, 4] = Cast(%"a:bf16") {to = 1}
  %y: f32[2, 4] = Add(%a, %n)
}
)");
}

TEST(ChoosePrecisionTest, ListsChangeTheTable) {
  expect_precision({{"precision-mode", "allow_mix_precision"},
                    {"modify-mixlist", "MatMul deny\nSoftmax allow\n"}},
                   kProduct, R"(graph @main(%x: f32[2, 4]) -> (%y) {
  %w = constant f32[4, 4] splat 0.5
  %a: f32[2, 4] = MatMul(%x, %w) name "/a"
  %b: f32[2, 4] = Relu(%a) name "/b"
  %"b:f16": f16[2, 4] = Cast(%b) {to = 10}
  %"y:f16": f16[2, 4] = Softmax(%"b:f16") name "/y"
  %y: f32[2, 4] = Cast(%"y:f16") {to = 1}
}
)");
}

TEST(ChoosePrecisionTest, ListsNeedAMix) {
  EXPECT_EQ(text_after(kProduct, options_of({{"modify-mixlist", "Relu deny\n"}})),
            "SL1006: pass: --modify-mixlist changes lists that "
            "--precision-mode=must_keep_origin_dtype does not use\n"
            "hint: --precision-mode=allow_mix_precision uses them");
}

TEST(ChoosePrecisionTest, WhatTravelledIsChecked) {
  EXPECT_EQ(text_after(kProduct, options_of({{"customize-dtypes", "/a\n"}})),
            "SL1006: pass: --customize-dtypes has '/a ', which says nothing");
}

TEST(ChoosePrecisionTest, LinesNameNodesAndOperatorsTheLastWins) {
  expect_precision({{"precision-mode", "force_bf16"},
                    {"customize-dtypes", "OpType::Soft* keep\n/? f16\n/b keep\n/y keep\n"}},
                   kProduct, R"(graph @main(%x: f32[2, 4]) -> (%y) {
  %"w:f16" = constant f16[4, 4] splat 0.5
  %"x:f16": f16[2, 4] = Cast(%x) {to = 10}
  %"a:f16": f16[2, 4] = MatMul(%"x:f16", %"w:f16") name "/a"
  %a: f32[2, 4] = Cast(%"a:f16") {to = 1}
  %b: f32[2, 4] = Relu(%a) name "/b"
  %y: f32[2, 4] = Softmax(%b) name "/y"
}
)");
}

TEST(ChoosePrecisionTest, LinesNameTheNodesThatAnotherCameFrom) {
  const std::string before = R"(graph @main(%x: f32[4]) -> (%y) {
  %y: f32[4] = Gelu(%x) from "/gelu/Erf", "/gelu/Mul"
}
)";
  expect_precision({{"customize-dtypes", "/gelu/Erf bf16\n"}}, before,
                   R"(graph @main(%x: f32[4]) -> (%y) {
  %"x:bf16": bf16[4] = Cast(%x) {to = 16} from "/gelu/Erf", "/gelu/Mul"
  %"y:bf16": bf16[4] = Gelu(%"x:bf16") from "/gelu/Erf", "/gelu/Mul"
  %y: f32[4] = Cast(%"y:bf16") {to = 1} from "/gelu/Erf", "/gelu/Mul"
}
)");
}

TEST(ChoosePrecisionTest, AnnotationsWorkWithoutAMode) {
  expect_precision({}, R"(graph @main(%x: f32[4]) -> (%y) {
  %a: f32[4] = Relu(%x) placement {stream_label = "left", precision = f16}
  %y: f32[4] = Neg(%a)
}
)",
                   R"(graph @main(%x: f32[4]) -> (%y) {
  %"x:f16": f16[4] = Cast(%x) {to = 10} placement {stream_label = "left"}
  %"a:f16": f16[4] = Relu(%"x:f16") placement {stream_label = "left"}
  %a: f32[4] = Cast(%"a:f16") {to = 1} placement {stream_label = "left"}
  %y: f32[4] = Neg(%a)
}
)");
}

// Where nothing is cast, the annotation alone would keep the nodes out of one kernel.
TEST(ChoosePrecisionTest, WhatIsObeyedIsTakenOffTheNode) {
  expect_precision({}, R"(graph @main(%x: f32[4]) -> (%y) {
  %a: f32[4] = Relu(%x)
  %b: f32[4] = Exp(%a) placement {precision = keep}
  %y: f32[4] = Neg(%b)
}
)",
                   R"(graph @main(%x: f32[4]) -> (%y) {
  %a: f32[4] = Relu(%x)
  %b: f32[4] = Exp(%a)
  %y: f32[4] = Neg(%b)
}
)");
}

TEST(ChoosePrecisionTest, ForceRaisesAModelOfHalves) {
  expect_precision({{"precision-mode", "force_fp32"}},
                   R"(graph @main(%x: f16[2, 4]) -> (%y) {
  %w = constant f16[4, 4] splat 0.5
  %a: f16[2, 4] = MatMul(%x, %w)
  %c: f32[2, 4] = Cast(%a) {to = 1}
  %b: f32[2, 4] = Softmax(%c)
  %y: f16[2, 4] = Cast(%b) {to = 10}
}
)",
                   R"(graph @main(%x: f16[2, 4]) -> (%y) {
  %"w:f32" = constant f32[4, 4] splat 0.5
  %"x:f32": f32[2, 4] = Cast(%x) {to = 1}
  %a: f32[2, 4] = MatMul(%"x:f32", %"w:f32")
  %b: f32[2, 4] = Softmax(%a)
  %y: f16[2, 4] = Cast(%b) {to = 10}
}
)");
}

TEST(ChoosePrecisionTest, CastsOfTheModelThatRoundStay) {
  const std::string rounds = R"(graph @main(%x: f32[4]) -> (%y) {
  %h: f16[4] = Cast(%x) {to = 10}
  %w: f32[4] = Cast(%h) {to = 1}
  %y: f32[4] = Relu(%w)
}
)";
  expect_precision({{"precision-mode", "force_fp32"}}, rounds, rounds);
}

TEST(ChoosePrecisionTest, WhatWasOnlyWidenedIsNotNarrowed) {
  expect_precision({{"precision-mode", "force_fp16"}},
                   R"(graph @main(%x: f16[4]) -> (%y) {
  %a: f32[4] = Cast(%x) {to = 1}
  %b: f32[4] = Exp(%a)
  %c: f16[4] = Cast(%b) {to = 10}
  %y: f16[4] = Neg(%c)
}
)",
                   R"(graph @main(%x: f16[4]) -> (%y) {
  %a: f32[4] = Cast(%x) {to = 1}
  %b: f16[4] = Exp(%x)
  %y: f16[4] = Neg(%b)
}
)");
}

TEST(ChoosePrecisionTest, OtherInputsAndDtypesStay) {
  expect_precision({{"precision-mode", "force_fp16"}},
                   R"(graph @main(%x: f32[1, 1, 2, 2], %s: f32[4], %d: f64[2]) -> (%y, %e) {
  %i = constant i64[1] [0]
  %y: f32[?, ?, ?, ?] = Resize(%x, _, %s)
  %e: f64[2] = Exp(%d)
}
)",
                   R"(graph @main(%x: f32[1, 1, 2, 2], %s: f32[4], %d: f64[2]) -> (%y, %e) {
  %"x:f16": f16[1, 1, 2, 2] = Cast(%x) {to = 10}
  %"y:f16": f16[?, ?, ?, ?] = Resize(%"x:f16", _, %s)
  %y: f32[?, ?, ?, ?] = Cast(%"y:f16") {to = 1}
  %e: f64[2] = Exp(%d)
}
)");
}

TEST(ChoosePrecisionTest, NodesThatTakeNoHalfReadWhatTheModelGivesThem) {
  expect_precision({{"precision-mode", "force_fp16"}},
                   R"(graph @main(%x: f32[4], %s: f32[], %z: i8[]) -> (%y) {
  %a: f32[4] = Relu(%x)
  %q: i8[4] = QuantizeLinear(%a, %s, %z)
  %b: f32[4] = DequantizeLinear(%q, %s, %z)
  %y: f32[4] = Neg(%b)
}
)",
                   R"(graph @main(%x: f32[4], %s: f32[], %z: i8[]) -> (%y) {
  %"x:f16": f16[4] = Cast(%x) {to = 10}
  %"a:f16": f16[4] = Relu(%"x:f16")
  %a: f32[4] = Cast(%"a:f16") {to = 1}
  %q: i8[4] = QuantizeLinear(%a, %s, %z)
  %b: f32[4] = DequantizeLinear(%q, %s, %z)
  %"b:f16": f16[4] = Cast(%b) {to = 10}
  %"y:f16": f16[4] = Neg(%"b:f16")
  %y: f32[4] = Cast(%"y:f16") {to = 1}
}
)");
}

// A second result of a fixed dtype keeps it.
TEST(ChoosePrecisionTest, ResultsHaveTheDtypesOfTheOpTable) {
  expect_precision({{"precision-mode", "force_fp16"}},
                   R"(graph @main(%x: f32[2, 4], %s: f32[4]) -> (%y, %m) {
  %y: f32[2, 4], %m: f32[2, 1] = LayerNormalization(%x, %s)
}
)",
                   R"(graph @main(%x: f32[2, 4], %s: f32[4]) -> (%y, %m) {
  %"s:f16": f16[4] = Cast(%s) {to = 10}
  %"x:f16": f16[2, 4] = Cast(%x) {to = 10}
  %"y:f16": f16[2, 4], %m: f32[2, 1] = LayerNormalization(%"x:f16", %"s:f16")
  %y: f32[2, 4] = Cast(%"y:f16") {to = 1}
}
)");
}

TEST(ChoosePrecisionTest, NumbersStayFiniteAndAboveZero) {
  const std::string after = text_after(R"(graph @main(%x: f32[2]) -> (%y) {
  %m = constant f32[2] [-3.4028235e+38, 1e-12]
  %i = constant f32[2] [-inf, 0]
  %a: f32[2] = Mul(%x, %m)
  %y: f32[2] = Add(%a, %i)
}
)",
                                       options_of({{"precision-mode", "force_fp16"}}));
  EXPECT_NE(after.find("constant f16[2] [-65504, 5.9604645e-08]"), std::string::npos) << after;
  EXPECT_NE(after.find("constant f16[2] [-inf, 0]"), std::string::npos) << after;
}

TEST(ChoosePrecisionTest, BodiesKeepTheirInputsAndOutputs) {
  expect_precision({{"precision-mode", "force_fp16"}},
                   R"(graph @main(%c: bool[], %x: f32[4]) -> (%y) {
  %y: f32[4] = If(%c, %x) {else_branch = @no, then_branch = @yes}
}
graph @no(%x: f32[4]) -> (%r) body captures 1 {
  %r: f32[4] = Neg(%x)
}
graph @yes(%x: f32[4]) -> (%r) body captures 1 {
  %r: f32[4] = Identity(%x)
}
)",
                   R"(graph @main(%c: bool[], %x: f32[4]) -> (%y) {
  %y: f32[4] = If(%c, %x) {else_branch = @no, then_branch = @yes}
}
graph @no(%x: f32[4]) -> (%r) body captures 1 {
  %"x:f16": f16[4] = Cast(%x) {to = 10}
  %"r:f16": f16[4] = Neg(%"x:f16")
  %r: f32[4] = Cast(%"r:f16") {to = 1}
}
graph @yes(%x: f32[4]) -> (%r) body captures 1 {
  %"x:f16": f16[4] = Cast(%x) {to = 10}
  %"r:f16": f16[4] = Identity(%"x:f16")
  %r: f32[4] = Cast(%"r:f16") {to = 1}
}
)");
}

}  // namespace
}  // namespace sluice
