#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(EliminateDeadNodes, ErasesWhatNobodyReads) {
  expect_rewrite(eliminate_dead_nodes,
                 R"(graph @main(%x: f32[2]) -> (%y) {
  %a: f32[2] = Exp(%x)
  %b: f32[2] = Exp(%a)
  %y: f32[2] = Relu(%x)
}
)",
                 R"(graph @main(%x: f32[2]) -> (%y) {
  %y: f32[2] = Relu(%x)
}
)");
}

TEST(EliminateDeadNodes, ErasesOptionalResultsAtTheEnd) {
  expect_rewrite(eliminate_dead_nodes,
                 R"(graph @main(%x: f32[2]) -> (%y) {
  %y: f32[2], %mask: bool[2] = Dropout(%x)
}
)",
                 R"(graph @main(%x: f32[2]) -> (%y) {
  %y: f32[2] = Dropout(%x)
}
)");
}

TEST(EliminateDeadNodes, KeepsWhatThePlanKeepsAndItsProducers) {
  expect_unchanged(eliminate_dead_nodes,
                   R"(graph @main(%x: f32[2]) -> (%y) {
  %a: f32[2] = Exp(%x)
  %b: f32[2] = Exp(%a) placement {keep}
  %y: f32[2] = Relu(%x)
}
)");
}

TEST(EliminateDeadNodes, PassesControlEdgesOn) {
  expect_rewrite(eliminate_dead_nodes,
                 R"(graph @main(%x: f32[2]) -> (%y, %a) {
  %a: f32[2] = Exp(%x)
  %b: f32[2] = Exp(%x) after %a
  %y: f32[2] = Relu(%x) after %b
}
)",
                 R"(graph @main(%x: f32[2]) -> (%y, %a) {
  %a: f32[2] = Exp(%x)
  %y: f32[2] = Relu(%x) after %a
}
)");
}

}  // namespace
}  // namespace sluice
