#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(EliminateIdentities, EveryKind) {
  expect_rewrite(eliminate_identities,
                 R"(graph @main(%x: f32[2, 3]) -> (%y) {
  %one = constant f32[] [1]
  %minus_zero = constant f32[1] [-0.0]
  %zero = constant f32[2, 3] [0, 0, 0, 0, 0, 0]
  %shape = constant i64[2] [2, 3]
  %a: f32[2, 3] = Identity(%x)
  %b: f32[2, 3] = Dropout(%a)
  %c: f32[2, 3] = Cast(%b) {to = 1}
  %d: f32[2, 3] = Transpose(%c) {perm = [0, 1]}
  %e: f32[2, 3] = Reshape(%d, %shape)
  %f: f32[2, 3] = Mul(%one, %e)
  %g: f32[2, 3] = Add(%f, %minus_zero)
  %h: f32[2, 3] = Sub(%g, %zero)
  %i: f32[2, 3] = Div(%h, %one)
  %y: f32[2, 3] = Relu(%i)
}
)",
                 R"(graph @main(%x: f32[2, 3]) -> (%y) {
  %y: f32[2, 3] = Relu(%x)
}
)");
}

TEST(EliminateIdentities, NotWhereABitOrTheTypeChanges) {
  expect_unchanged(eliminate_identities,
                   R"(graph @main(%x: f32[2, 3], %n: i64[2]) -> (%g, %h) {
  %zero = constant f32[] [0]
  %one = constant f32[1, 2, 3] splat 1
  %none = constant i64[2] [1, 0]
  %a: f32[2, 3] = Add(%x, %zero)
  %b: f32[1, 2, 3] = Mul(%a, %one)
  %c: f64[1, 2, 3] = Cast(%b) {to = 11}
  %g: f64[1, 3, 2] = Transpose(%c) {perm = [0, 2, 1]}
  %h: i64[2] = Add(%n, %none)
}
)");
}

TEST(EliminateIdentities, OutputsKeepTheirNames) {
  expect_rewrite(eliminate_identities,
                 R"(graph @main(%x: f32[2]) -> (%y, %z, %w) {
  %a: f32[2] = Relu(%x)
  %y: f32[2] = Identity(%a)
  %z: f32[2] = Identity(%a)
  %w: f32[2] = Identity(%x)
}
)",
                 R"(graph @main(%x: f32[2]) -> (%y, %z, %w) {
  %y: f32[2] = Relu(%x)
  %z: f32[2] = Identity(%y)
  %w: f32[2] = Identity(%x)
}
)");
}

TEST(EliminateIdentities, DropoutThatTrainsStays) {
  expect_unchanged(eliminate_identities,
                   R"(graph @main(%x: f32[2]) -> (%y) {
  %ratio = constant f32[] [0.5]
  %training = constant bool[] [true]
  %a: f32[2] = Dropout(%x, %ratio, %training)
  %y: f32[2] = Relu(%a)
}
)");
}

}  // namespace
}  // namespace sluice
