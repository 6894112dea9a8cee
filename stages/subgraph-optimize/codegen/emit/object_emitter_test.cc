#include "stages/subgraph-optimize/codegen/emit/object_emitter.h"

#include <gmock/gmock.h>

#include "common/base/files.h"
#include "common/loop/packing.h"
#include "common/target/kernel_specification.h"
#include "stages/subgraph-optimize/codegen/codegen.h"
#include "stages/subgraph-optimize/codegen/epilogue_builder.h"
#include "stages/subgraph-optimize/codegen/loop/loop_kernel.h"
#include "stages/subgraph-optimize/codegen/testing/conv_specs.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {
namespace {

TEST(ObjectEmitter, NamesTheUndefinedSymbol) {
  auto open = read_file(SLUICE_TEST_OPEN_OBJECT);
  ASSERT_TRUE(open.ok());
  auto closed = check_closed(*open, "cpu-generic");
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().code, ErrorCode::kCodegen);
  EXPECT_THAT(closed.error().message, testing::HasSubstr("'sluice_test_elsewhere'"));
}

// Needs no CPU that can run them: kernels of all profiles, with long zero pages and copies for
// which LLVM would like to call memset and memcpy.
TEST(ObjectEmitter, KernelsOfEveryProfileAreClosed) {
  for (const std::string& name : cpu_profiles()) {
    auto profile = get_profile(name);
    ASSERT_TRUE(profile.ok());
    EpilogueBuilder e;
    int value = e.accumulator();
    using loop::ScalarOp;
    for (const ScalarOp op : {ScalarOp::kExp, ScalarOp::kTanh, ScalarOp::kErf, ScalarOp::kSin,
                              ScalarOp::kSqrt, ScalarOp::kFloor, ScalarOp::kReciprocal}) {
      value = e.scalar(op, value);
    }
    const Epilogue epilogue = e.finish(value);
    for (int64_t channels : {3, 200}) {
      ConvSpec s = square_conv(1, 20, channels, 37, 3);
      s.epilogue = epilogue;
      auto kernel = generate_conv(s, *profile);
      EXPECT_TRUE(kernel.ok()) << error_text(kernel.error());
    }
    const loop::LoopGraph packing = loop::packing_loops({1, 500, {3}, {0}, false, 64});
    auto pack =
        generate_loops(specification_text(packing, *profile, MathPrecision::kDefault), "pack");
    EXPECT_TRUE(pack.ok()) << error_text(pack.error());
  }
}

TEST(ObjectEmitter, EntriesDependOnTheProfile) {
  auto one = get_profile("cpu-avx2");
  auto two = get_profile("cpu-generic");
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(kernel_entry("x", *one).size(), 18u);
  EXPECT_EQ(kernel_entry("x", *one), kernel_entry("x", *one));
  EXPECT_NE(kernel_entry("x", *one), kernel_entry("x", *two));
  EXPECT_NE(kernel_entry("x", *one), kernel_entry("y", *one));
}

}  // namespace
}  // namespace sluice
