#include "stages/subgraph-optimize/codegen/contraction/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stages/subgraph-optimize/codegen/testing/kernels.h"

namespace sluice {
namespace {

class Plan : public testing::TestWithParam<std::string> {};

TEST_P(Plan, TilesFitRegistersAndBlocksCoverTheWork) {
  auto profile = get_profile(GetParam());
  ASSERT_TRUE(profile.ok());
  for (int64_t rows : {1, 5, 49, 196, 3136}) {
    for (int64_t columns : {1, 3, 17, 64, 100, 2048}) {
      for (int64_t reduction : {1, 27, 576, 4608}) {
        for (int64_t batch : {1, 3, 100}) {
          const ContractionPlan plan =
              choose_plan({rows, columns, reduction, batch, 0, 0}, *profile);
          SCOPED_TRACE(testing::Message()
                       << rows << " " << columns << " " << reduction << " " << batch);
          EXPECT_LE(plan.rows * plan.vectors + plan.vectors, profile->vector_registers);
          EXPECT_LE(plan.lanes * 32, profile->vector_bits);
          EXPECT_EQ(plan.nr, plan.lanes * plan.vectors);
          EXPECT_EQ(plan.panels, (columns + plan.nr - 1) / plan.nr);
          EXPECT_LE(plan.rows, rows);
          EXPECT_LE(plan.row_blocks, (rows + plan.rows - 1) / plan.rows);
          EXPECT_LE(plan.panel_blocks, plan.panels);
          EXPECT_LE(plan.batch_blocks, batch);
          EXPECT_GE(plan.panel_group, 1);
          EXPECT_EQ(plan.blocks, plan.row_blocks * plan.panel_blocks * plan.batch_blocks);
          EXPECT_LE(plan.blocks, 64u);
        }
      }
    }
  }
}

TEST_P(Plan, LargeLaunchesHaveManyBlocksAndTinyOnesOne) {
  auto profile = get_profile(GetParam());
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(choose_plan({4, 4, 4, 1, 0, 0}, *profile).blocks, 1u);
  EXPECT_GE(choose_plan({3136, 64, 576, 1, 0, 0}, *profile).blocks, 8u);
  EXPECT_GE(choose_plan({49, 512, 4608, 1, 0, 0}, *profile).blocks, 8u);
  EXPECT_GE(choose_plan({128, 128, 64, 12, 0, 0}, *profile).blocks, 8u);
}

// Rows that a block prepares pass by several of its panels, in chunks that fit the second cache.
TEST_P(Plan, PreparedRowsServeSeveralPanels) {
  auto profile = get_profile(GetParam());
  ASSERT_TRUE(profile.ok());
  ContractionSize size{196, 512, 1024, 1, 0, 0};
  size.prepared = {4096, 500, 0};
  const ContractionPlan plan = choose_plan(size, *profile);
  EXPECT_GE(plan.panels, 2 * plan.panel_blocks);
  EXPECT_EQ(plan.blocks, plan.row_blocks * plan.panel_blocks * plan.batch_blocks);
  const int64_t tiles = choose_chunk_tiles(size, plan, *profile);
  const int64_t tile_bytes = plan.rows * size.prepared.bytes;
  EXPECT_GE(tiles, 1);
  EXPECT_LE(tiles * tile_bytes, std::max(tile_bytes, profile->l2_bytes / 4));
}

// A kernel that is planned for one row serves many, too.
TEST_P(Plan, SymbolicRowsGetATileForManyRows) {
  auto profile = get_profile(GetParam());
  ASSERT_TRUE(profile.ok());
  for (int64_t rows : {0, 1, 128}) {
    const ContractionPlan plan =
        choose_symbolic_plan({rows, 768, 768, 1, 0, 0}, true, false, *profile);
    EXPECT_GE(plan.rows * plan.vectors, 8);
    EXPECT_GE(plan.rows, 2);
    EXPECT_EQ(plan.rows,
              choose_symbolic_plan({4096, 768, 768, 1, 0, 0}, true, false, *profile).rows);
  }
}

MatMulSpec transposed_product(int64_t m, int64_t k, int64_t n) {
  MatMulSpec s;
  s.m = m, s.k = k, s.n = n;
  s.a_row_stride = s.b_column_stride = k;
  s.b_row_stride = 1;
  s.c_row_stride = n;
  return s;
}

TEST_P(Plan, FewRowsTakeDotProductsWithContiguousColumns) {
  auto profile = get_profile(GetParam());
  ASSERT_TRUE(profile.ok());
  MatMulSpec s = transposed_product(1, 1024, 4096);
  const ContractionPlan plan = choose_matmul_plan(s, *profile);
  EXPECT_GE(plan.dot_rows, 1);
  EXPECT_EQ(plan.rows, 1);
  EXPECT_EQ(plan.nr, profile->vector_bits / 32);
  EXPECT_GE(plan.blocks, 8u);
  EXPECT_LT(choose_matmul_plan(transposed_product(500, 1024, 4096), *profile).dot_rows, 500);
  s.b_packed = true;
  EXPECT_EQ(choose_matmul_plan(s, *profile).dot_rows, 0);
  s.b_packed = false, s.b_row_stride = 2;
  EXPECT_EQ(choose_matmul_plan(s, *profile).dot_rows, 0);
  s = transposed_product(1, 1024, 4096);
  s.m = Extent::of_symbol(0, 64);
  EXPECT_GE(choose_matmul_plan(s, *profile).dot_rows, 1);
  EXPECT_GT(choose_matmul_plan(s, *profile).rows, 1);
}

INSTANTIATE_TEST_SUITE_P(Profiles, Plan, testing::ValuesIn(cpu_profiles()), [](const auto& info) {
  return info.param.substr(info.param.find('-') + 1);
});

}  // namespace
}  // namespace sluice
