#include "common/eval/steps.h"

#include <gtest/gtest.h>

#include "common/ir/module.h"
#include "common/ops/attributes.h"

namespace sluice {
namespace {

struct StepsTest : testing::Test {
  Module module;
  Graph& graph = module.add_graph("main");

  Node& node(Op op, const std::vector<std::vector<int64_t>>& inputs, std::vector<int64_t> output) {
    std::vector<Value*> values;
    for (const auto& dims : inputs)
      values.push_back(&graph.add_input(module.intern(Type::fixed_tensor(DType::kF32, dims))));
    Node& made = graph.add_node(op, values);
    made.output().set_type(module.intern(Type::fixed_tensor(DType::kF32, std::move(output))));
    return made;
  }
  uint64_t einsum(const std::string& equation, const std::vector<std::vector<int64_t>>& inputs) {
    Node& made = node(Op::kEinsum, inputs, {});
    made.set(attributes::Einsum::equation, equation);
    return hidden_steps(made);
  }
};

TEST_F(StepsTest, EinsumWalksTheProductOfItsSubscripts) {
  EXPECT_EQ(einsum("ij,jk->ik", {{2, 3}, {3, 5}}), 2u * 2 * 3 * 5);
  EXPECT_EQ(einsum("a...b, b...->a", {{2, 7, 4, 3}, {3, 7, 4}}), 2u * 2 * 28 * 3);
  EXPECT_EQ(einsum("ij", {{2, 3, 4}}), 0u);  // does not fit, which the kernel reports
  const std::vector<std::vector<int64_t>> many(12, {4, 4});
  EXPECT_EQ(einsum("ab,cd,ef,gh,ij,kl,mn,op,qr,st,uv,wx->", many), 12 * (uint64_t{1} << 48));
  EXPECT_EQ(einsum("ab,cd->", {{1 << 30, 1 << 30}, {1 << 30, 1 << 30}}), UINT64_MAX);
}

TEST_F(StepsTest, RoiAlignTakesItsSamples) {
  Node& align = node(Op::kRoiAlign, {{1, 2, 4, 5}, {3, 4}}, {3, 2, 1, 1});
  EXPECT_EQ(hidden_steps(align), 6u * 6 * 7);
  align.set(attributes::RoiAlign::sampling_ratio, int64_t{1000});
  EXPECT_EQ(hidden_steps(align), 6u * 1000 * 1000);
  EXPECT_EQ(hidden_steps(node(Op::kNeg, {{4}}, {4})), 0u);
}

}  // namespace
}  // namespace sluice
