#include "common/loop/prologue.h"

#include <gtest/gtest.h>

#include "common/loop/text.h"
#include "common/loop/verify.h"
#include "common/ops/attributes.h"
#include "common/text/text.h"

namespace sluice::loop {
namespace {

// Returns the loops that compute value %a of the first body in a text, or why there are none.
std::string loops_of(const std::string& text, size_t columns) {
  auto module = parse_module("sluice 1 typed\n" + text, "t");
  if (!module) return error_text(module.error());
  for (Node& node : module->root().nodes()) {
    if (node.op() != Op::kFused) continue;
    for (const Node& inner : node.get(attributes::Fused::body)->nodes()) {
      if (inner.output().name() != "a") continue;
      auto lowered = lower_prologue(node, inner.output(), columns);
      if (!lowered) return lowered.error().message;
      const auto verified = verify(lowered->loops);
      EXPECT_TRUE(verified.ok()) << error_text(verified.error());
      return print_loops(lowered->loops);
    }
  }
  return "no value";
}

TEST(PrologueTest, RowsOfAProduct) {
  EXPECT_EQ(loops_of(R"(symbol N = dim(@main, %x, 0) in [1, *]
graph @main(%x: f32[N, 3, 8], %s: f16[3, 8], %w: f32[8, 4], %z: f32[N, 3, 4]) -> (%y) {
  %y: f32[N, 3, 4] = Fused(%x, %s, %w, %z) {anchor = 2, body = @y}
}
graph @y(%x: f32[N, 3, 8], %s: f16[3, 8], %w: f32[8, 4], %z: f32[N, 3, 4]) -> (%y) fused {
  %c: f32[3, 8] = Cast(%s) {to = 1}
  %a: f32[N, 3, 8] = Mul(%x, %c)
  %p: f32[N, 3, 4] = MatMul(%a, %w)
  %y: f32[N, 3, 4] = Add(%p, %z)
}
)",
                     2),
            R"(loops 1
size n2 = dim 2 in [1, *] nominal 4
buffer y0: f32[3*n2, 8] written
buffer x1: f32[n2, 3, 8]
buffer x2: f16[3, 8]
nest for i0 < 3*n2, i1 < 8 {
  sweep {
    %0: f32 = load x1[floordiv(i0, 3), i0 - 3*floordiv(i0, 3), i1]
    %1: f32 = load x2[i0 - 3*floordiv(i0, 3), i1]
    %2: f32 = mul %0, %1
    store y0[i0, i1] = %2
  }
}
)");
}

TEST(PrologueTest, ConcatOfChannelsIsANestForEachPart) {
  EXPECT_EQ(loops_of(R"(graph @main(%b: f32[1, 2, 4, 4], %c: f32[1, 3, 4, 4]) -> (%y) {
  %w = constant f32[6, 5, 1, 1] splat 1
  %y: f32[1, 6, 4, 4] = Fused(%b, %c, %w) {anchor = 2, body = @y}
}
graph @y(%b: f32[1, 2, 4, 4], %c: f32[1, 3, 4, 4], %w: f32[6, 5, 1, 1]) -> (%y) fused {
  %0: f32[1, 5, 4, 4] = Concat(%b, %c) {axis = 1}
  %a: f32[1, 5, 4, 4] = Neg(%0)
  %y: f32[1, 6, 4, 4] = Conv(%a, %w)
}
)",
                     1),
            R"(loops 1
buffer y0: f32[16, 5] written
buffer x1: f32[1, 2, 4, 4]
buffer x2: f32[1, 3, 4, 4]
nest for i0 < 16, i1 < 2 {
  sweep {
    %0: f32 = load x1[0, i1, floordiv(i0, 4), i0 - 4*floordiv(i0, 4)]
    %1: f32 = neg %0
    store y0[i0, i1] = %1
  }
}
nest for i2 < 16, i3 < 3 {
  sweep {
    %0: f32 = load x2[0, i3, floordiv(i2, 4), i2 - 4*floordiv(i2, 4)]
    %1: f32 = neg %0
    store y0[i2, i3 + 2] = %1
  }
}
)");
}

TEST(PrologueTest, SumsAreRefused) {
  EXPECT_EQ(loops_of(R"(graph @main(%x: f32[4, 16], %w: f32[16, 8]) -> (%y) {
  %y: f32[4, 8] = Fused(%x, %w) {anchor = 1, body = @y} name "n"
}
graph @y(%x: f32[4, 16], %w: f32[16, 8]) -> (%y) fused {
  %a: f32[4, 16] = Softmax(%x)
  %y: f32[4, 8] = MatMul(%a, %w)
}
)",
                     1),
            "node 'n' (Fused): what its contraction reads has sums or loops of its own");
}

}  // namespace
}  // namespace sluice::loop
