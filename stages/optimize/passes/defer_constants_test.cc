#include <gtest/gtest.h>

#include "common/ir/module.h"
#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

TEST(DeferConstants, LeavesSmallExpandingRandomKeptAndOutputNodes) {
  expect_unchanged(defer_constants,
                   R"(graph @main(%x: f32[20000]) -> (%y, %o) {
  %w = constant f32[20000] splat 1
  %one = constant f32[20] [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
  %shape = constant i64[2] [1000, 20]
  %wide: f32[1000, 20] = Expand(%one, %shape)
  %r: f32[20000] = RandomNormalLike(%w)
  %k: f32[20000] = Neg(%w) placement {no_fold}
  %n: f32[20] = Neg(%one)
  %y: f32[20000] = Add(%x, %k)
  %o: f32[20000] = Exp(%w)
  %a: f32[20000] = Add(%r, %k)
  %b: f32[1000, 20] = Add(%wide, %n)
}
)");
}

// Each of 60 results is read twice by the next: expressions nest 50 deep, and the nodes after that
// stay.
TEST(DeferConstants, BoundsNestingAndMovesEveryNodeOnce) {
  Module module;
  Graph& graph = module.add_graph("main");
  const TypeId type = module.intern(Type::fixed_tensor(DType::kF32, {20000}));
  std::vector<std::byte> bytes(80000, std::byte{1});
  bytes[0] = std::byte{2};
  Value* value = &graph.add_constant(module.make_constant(type, std::move(bytes)));
  for (int i = 0; i < 60; ++i) {
    value = &graph.add_node(Op::kAdd, {value, value}).output();
    value->set_type(type);
  }
  Value& x = graph.add_input(type);
  Value& y = graph.add_node(Op::kMul, {&x, value}).output();
  y.set_type(type);
  graph.add_output(y);
  const auto changed = defer_constants(graph, {});
  ASSERT_TRUE(changed.ok() && *changed);
  EXPECT_EQ(graph.node_count(), 60u - 50u + 1u);
}

}  // namespace
}  // namespace sluice
