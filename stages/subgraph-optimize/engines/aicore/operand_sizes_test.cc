#include "stages/subgraph-optimize/engines/aicore/operand_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/ir/module.h"
#include "common/text/text.h"

namespace sluice {
namespace {

using testing::HasSubstr;

Module parsed() {
  auto module = parse_module(R"(sluice 1 typed
symbol N = dim(@main, %x, 0)
symbol M = dim(@main, %y, 0)
graph @main(%x: f32[N, 8], %y: f32[M, 8]) -> (%z) {
  %z: f32[N, 8] = Relu(%x)
}
)",
                             "test");
  EXPECT_TRUE(module.ok());
  return std::move(module).value();
}

TEST(OperandSizes, ASizeIsANumberOrADimOfAnOperand) {
  const Module module = parsed();
  const Value& x = *module.root().inputs()[0];
  const OperandSizes sizes(module, {&x.type()});
  const auto dims = sizes.of(x.type());
  ASSERT_TRUE(dims.ok());
  EXPECT_FALSE((*dims)[0].is_fixed());
  EXPECT_TRUE((*dims)[1].is_fixed_at(8));
  const auto strides = sizes.strides(x);
  ASSERT_TRUE(strides.ok());
  EXPECT_TRUE((*strides)[0].is_fixed_at(8));
}

// A kernel for another size would compute something else.
TEST(OperandSizes, ASizeOfNoOperandIsOurBug) {
  const Module module = parsed();
  const Value &x = *module.root().inputs()[0], &y = *module.root().inputs()[1];
  const auto dims = OperandSizes(module, {&x.type()}).of(y.type());
  ASSERT_FALSE(dims.ok());
  EXPECT_EQ(dims.error().code, ErrorCode::kInternal);
  EXPECT_THAT(dims.error().message, HasSubstr("the size M, which none of its operands has"));
}

}  // namespace
}  // namespace sluice
