#include "orchestrator/refit/count_constants.h"

#include <gtest/gtest.h>

#include "common/omfile/testing/model_builder.h"

namespace sluice {
namespace {

using testing::ModelBuilder;

// A model whose two tasks read the constants at these offsets, 64 bytes each.
OmFile model_with_weights(const std::vector<std::byte>& weights, uint64_t first, uint64_t second) {
  ModelBuilder builder;
  const uint32_t type = builder.type(DType::kU8, {64});
  const uint32_t y = builder.output("y", type), h = builder.arena_value("h", type);
  const uint32_t stream = builder.stream("main"), kernel = builder.test_kernel("k", 1);
  const uint32_t a = builder.value("a", type, pb::REGION_WEIGHTS, first);
  const uint32_t b = builder.value("b", type, pb::REGION_WEIGHTS, second);
  builder.launch("one", stream, kernel, {h}, {a});
  builder.launch("two", stream, kernel, {y}, {h, b, a});
  const OmSegment segment{pb::SEGMENT_WEIGHTS, {{0, weights}}, weights.size(), {}};
  const std::vector<std::byte> bytes = testing::om_bytes(builder.model, {segment});
  return read_om(OmBytes::copy(bytes).value(), {.test_tasks = true}).value();
}

std::vector<std::byte> filled(std::initializer_list<int> blocks) {
  std::vector<std::byte> bytes;
  for (const int block : blocks) bytes.insert(bytes.end(), 64, static_cast<std::byte>(block));
  return bytes;
}

TEST(CountConstants, CountsEachOnce) {
  const OmFile base = model_with_weights(filled({1, 2}), 0, 64);
  const ConstantCounts kept = count_constants(base, base);
  EXPECT_EQ(kept.changed, 0u);
  EXPECT_EQ(kept.kept, 2u);
  EXPECT_TRUE(kept.are_all);
  const ConstantCounts one = count_constants(base, model_with_weights(filled({1, 3}), 0, 64));
  EXPECT_EQ(one.changed, 1u);
  EXPECT_EQ(one.kept, 1u);
}

TEST(CountConstants, TheLastByteCounts) {
  std::vector<std::byte> weights = filled({1, 2});
  weights.back() = std::byte{9};
  const ConstantCounts counts = count_constants(model_with_weights(filled({1, 2}), 0, 64),
                                                model_with_weights(weights, 0, 64));
  EXPECT_EQ(counts.changed, 1u);
}

TEST(CountConstants, OneMayBecomeTwo) {
  const OmFile shared = model_with_weights(filled({1}), 0, 0),
               apart = model_with_weights(filled({2, 1}), 0, 64);
  const ConstantCounts split = count_constants(shared, apart);
  EXPECT_EQ(split.changed, 1u);
  EXPECT_EQ(split.kept, 1u);
  const ConstantCounts joined = count_constants(apart, shared);
  EXPECT_EQ(joined.changed, 1u);  // one of the two was another
  EXPECT_EQ(joined.kept, 0u);
}

TEST(CountConstants, SaysWhenThereAreOthers) {
  const OmFile base = model_with_weights(filled({1, 2, 3}), 0, 64);
  EXPECT_FALSE(count_constants(base, base).are_all);
}

}  // namespace
}  // namespace sluice
