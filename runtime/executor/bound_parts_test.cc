#include "runtime/executor/bound_parts.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "common/omfile/testing/model_builder.h"
#include "common/symbolic/expression.h"

namespace sluice {
namespace {

// A part that copies n rows, where n is a symbol.
std::shared_ptr<const OpenedModel> copying_model() {
  testing::ModelBuilder b;
  const uint32_t rows = b.type(DType::kF32, {-1, 4});
  for (const uint32_t expression : {1, 0})
    b.model.mutable_types(static_cast<int>(rows))->add_dim_expression(expression);
  b.model.mutable_sizes()->add_symbols();
  b.model.mutable_sizes()->add_expression_op(static_cast<uint32_t>(ExpressionOp::kSymbol));
  b.model.mutable_sizes()->add_expression_a(0);
  b.model.mutable_sizes()->add_expression_b(0);
  b.model.add_inputs()->set_name("x");
  b.model.add_outputs()->set_name("y");
  *b.part().mutable_inputs() = b.model.inputs();
  *b.part().mutable_outputs() = b.model.outputs();
  for (const uint32_t region : {0, 1}) {
    b.part().add_value_type(rows);
    b.part().add_value_region(pb::REGION_FIRST_BINDING + region);
    b.part().add_value_offset(0);
    b.part().add_value_bytes(0);
    b.part().add_value_storage(0);
    b.model.mutable_parts(0)->mutable_symbolic()->add_value_buffer(0xffffffff);
  }
  b.copy("copy", b.stream("main"), 1, 0);
  b.model.mutable_root()->set_graph(1);
  const auto bytes =
      testing::om_bytes(b.model, {{.kind = pb::SEGMENT_WEIGHTS}, {.kind = pb::SEGMENT_GRAPH}});
  auto opened = OpenedModel::open(OmBytes::copy(bytes).value());
  EXPECT_TRUE(opened) << opened.error().message;
  return *opened;
}

class BoundPartsTest : public ::testing::Test {
 protected:
  std::shared_ptr<const StaticModel> get(int64_t rows,
                                         std::shared_ptr<const StaticModel> held = nullptr) {
    auto bound = parts_.get(0, std::array{rows}, std::move(held));
    EXPECT_TRUE(bound) << bound.error().message;
    return *bound;
  }

  BoundParts parts_{copying_model(), {nullptr}};
};

TEST_F(BoundPartsTest, BindsEachSizeOnce) {
  const auto three = get(3), four = get(4);
  EXPECT_EQ(three->binding_bytes(0), 3u * 16);
  EXPECT_EQ(four->binding_bytes(1), 4u * 16);
  EXPECT_EQ(get(3), three);
  const BoundPartsCounters counters = parts_.counters();
  EXPECT_EQ(counters.binds, 2u);
  EXPECT_EQ(counters.hits, 1u);
  EXPECT_EQ(counters.evictions, 0u);
  EXPECT_EQ(counters.parts, 2u);
  EXPECT_GE(counters.bytes, three->held_bytes() + four->held_bytes());
  EXPECT_EQ(counters.limit_bytes, 64u << 20);
}

TEST_F(BoundPartsTest, GivesUpThoseUsedLongestAgo) {
  get(1);
  const uint64_t each = parts_.counters().bytes;
  parts_.limit(3 * each + each / 2);
  const auto two = get(2), three = get(3);
  const auto one = get(1);
  get(4);  // in the place of 2
  EXPECT_EQ(parts_.counters().evictions, 1u);
  EXPECT_EQ(parts_.counters().parts, 3u);
  EXPECT_LE(parts_.counters().bytes, parts_.counters().limit_bytes);
  EXPECT_EQ(get(1), one);
  EXPECT_EQ(get(3), three);
  EXPECT_NE(get(2), two);
}

TEST_F(BoundPartsTest, ALowerLimitHoldsAtOnce) {
  for (int64_t rows = 1; rows <= 10; ++rows) get(rows);
  const uint64_t half = parts_.counters().bytes / 2;
  parts_.limit(half);
  EXPECT_LE(parts_.counters().bytes, half);
  EXPECT_EQ(parts_.counters().parts + parts_.counters().evictions, 10u);
  parts_.limit(0);
  EXPECT_EQ(parts_.counters().bytes, 0u);
  EXPECT_EQ(parts_.counters().evictions, 10u);
}

TEST_F(BoundPartsTest, WhatTheCallerHoldsIsNotBoundAnew) {
  parts_.limit(0);
  const auto bound = get(3);
  EXPECT_EQ(get(3, bound), bound);
  EXPECT_NE(get(3), bound);
  EXPECT_EQ(parts_.counters().binds, 2u);
  EXPECT_EQ(parts_.counters().hits, 1u);
  EXPECT_EQ(parts_.counters().evictions, 0u);
}

TEST_F(BoundPartsTest, SizesThatCannotBeAreNotKept) {
  EXPECT_FALSE(parts_.get(0, std::array{int64_t{-1}}));
  EXPECT_EQ(parts_.counters().parts, 0u);
}

TEST_F(BoundPartsTest, ThreadsBindAtOnce) {
  constexpr int64_t kSizes = 50;
  get(1);
  parts_.limit(parts_.counters().bytes * 20);
  std::array<std::array<bool, kSizes>, 2> right{};
  std::vector<std::thread> threads;
  for (auto& mine : right) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 20; ++turn) {
        for (int64_t i = 0; i < kSizes; ++i)
          mine[static_cast<size_t>(i)] =
              get(i + 1)->binding_bytes(0) == static_cast<uint64_t>(i + 1) * 16;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : right)
    EXPECT_TRUE(std::all_of(mine.begin(), mine.end(), [](bool one) { return one; }));
  const BoundPartsCounters counters = parts_.counters();
  EXPECT_EQ(counters.hits + counters.binds, 1u + 2 * 20 * kSizes);
  EXPECT_LE(counters.bytes, counters.limit_bytes);
  EXPECT_GE(counters.parts, 18u);
}

TEST_F(BoundPartsTest, ThreadsThatBindTheSameShareIt) {
  for (int64_t rows = 1; rows <= 100; ++rows) {
    std::array<std::shared_ptr<const StaticModel>, 2> bound;
    std::thread other([&] { bound[0] = get(rows); });
    bound[1] = get(rows);
    other.join();
    EXPECT_EQ(bound[0], bound[1]);
  }
  EXPECT_EQ(parts_.counters().parts, 100u);
}

}  // namespace
}  // namespace sluice
