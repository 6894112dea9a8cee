#include "common/loop/testing/family_case.h"

namespace sluice::loop {
namespace {

const Ranges kRanges = {
    {"x", {-3, 5}}, {"s", {-2, 2}}, {"b", {-1, 1}}, {"m", {-2, 2}}, {"v", {0.5, 4}}};

void expect_normalized(const std::string& inputs, const std::string& node) {
  expect_family({inputs, node, 32, kRanges});
}

TEST(NormalizationTest, Layers) {
  const std::string node = "%y = LayerNormalization(%x, %s, %b)";
  expect_normalized("%x: D[2, 3, 8], %s: D[8], %b: D[8]", node);
  expect_normalized("%x: D[N, 3, M], %s: D[3, M], %b: D[M]", node + " {axis = 1}");
  expect_normalized("%x: D[N, M, 8], %s: D[1], %b: D[M, 1]", node + " {axis = -2, epsilon = 0.01}");
  expect_normalized("%x: D[2, 3, 8], %s: D[1, 1, 1, 8], %b: D[1, 1, 8]", node);
  expect_normalized("%x: D[2, 3, 8], %s: D[2, 1, 8], %b: D[3, 1]", node);
  expect_normalized("%x: D[5, 7], %s: D[7]", "%y = LayerNormalization(%x, %s) {axis = 0}");
  expect_normalized("%x: D[N, 0], %s: D[0]", "%y = LayerNormalization(%x, %s)");
  expect_normalized("%x: D[N, 1], %s: D[1]", "%y = LayerNormalization(%x, %s)");
  expect_normalized("%x: D[N, 600], %s: f32[600]", "%y = LayerNormalization(%x, %s)");
}

TEST(NormalizationTest, StatisticsOfLayers) {
  for (const std::string stash : {"", "{stash_type = 1, axis = 1}", "{stash_type = 10}"}) {
    const std::string node = "%y, %m, %i = LayerNormalization(%x, %s) " + stash;
    expect_family({"%x: D[2, 3, 8], %s: D[8]", node, 32, kRanges, {"f32", "f16", "bf16"}});
    expect_family({"%x: D[N, 3, M], %s: D[M]", node, 32, kRanges, {"f32", "f16", "bf16"}});
    expect_family({"%x: D[N, 3, 0], %s: D[1]", node, 32, kRanges, {"f32", "f16", "bf16"}});
  }
  expect_family({"%x: D[N, 3, M], %s: D[M]",
                 "%y, %m, %i = LayerNormalization(%x, %s) {stash_type = 11}",
                 32,
                 kRanges,
                 {"f64"}});
}

TEST(NormalizationTest, RootMeanSquares) {
  expect_normalized("%x: D[2, 3, 8], %s: D[8]", "%y = RMSNormalization(%x, %s)");
  expect_normalized("%x: D[N, 3, M], %s: D[3, M]",
                    "%y = RMSNormalization(%x, %s) {axis = 1, epsilon = 0.1}");
  expect_normalized("%x: D[N, M, 8], %s: f32[8]", "%y = RMSNormalization(%x, %s)");
  expect_normalized("%x: D[N, M, 3], %s: D[M, 1]", "%y = RMSNormalization(%x, %s) {axis = -2}");
  expect_normalized("%x: D[4, 0], %s: D[1]", "%y = RMSNormalization(%x, %s)");
}

TEST(NormalizationTest, InstancesAndGroups) {
  for (const std::string node : {"%y = InstanceNormalization(%x, %s, %b)",
                                 "%y = InstanceNormalization(%x, %s, %b) {epsilon = 0.5}",
                                 "%y = GroupNormalization(%x, %s, %b) {num_groups = 2}",
                                 "%y = GroupNormalization(%x, %s, %b) {num_groups = 4}",
                                 "%y = GroupNormalization(%x, %s, %b) {num_groups = 1}"}) {
    expect_normalized("%x: D[2, 4, 5], %s: D[4], %b: D[4]", node);
    expect_normalized("%x: D[N, 4, M, 3], %s: D[4], %b: D[4]", node);
    expect_normalized("%x: D[1, 4, 2, 3, 2], %s: D[4], %b: D[4]", node);
    expect_normalized("%x: D[2, 4, 0], %s: D[4], %b: D[4]", node);
  }
  expect_normalized("%x: D[N, 6], %s: f32[6], %b: f32[6]",
                    "%y = GroupNormalization(%x, %s, %b) {num_groups = 3}");
}

TEST(NormalizationTest, Batches) {
  const std::string node = "%y = BatchNormalization(%x, %s, %b, %m, %v)";
  for (const std::string x : {"2, 4, 5", "N, 4, M, 3", "3, 4", "N, 4, 2, 2, 2", "0, 4, 5"})
    expect_normalized("%x: D[" + x + "], %s: D[4], %b: D[4], %m: D[4], %v: D[4]", node);
  expect_normalized("%x: D[7], %s: D[1], %b: D[1], %m: D[1], %v: D[1]", node);
  expect_normalized("%x: D[2, 4, 5], %s: f32[4], %b: f32[4], %m: f32[4], %v: f32[4]",
                    node + " {epsilon = 0.125}");
}

TEST(NormalizationTest, PowersOfLines) {
  for (const std::string attributes : {"", "{axis = 0, p = 1}", "{axis = -2}"}) {
    for (const std::string inputs : {"%x: D[3, 4, 5]", "%x: D[N, M]", "%x: D[3, 0]"})
      expect_family({inputs, "%y = LpNormalization(%x) " + attributes, 16});
    expect_family({"%x: D[3, 4]", "%y = LpNormalization(%x) " + attributes, 0, {{"x", {0, 0}}}});
  }
}

TEST(NormalizationTest, MeanAndVariance) {
  for (const std::string attributes : {"", "{axes = [1, -1]}", "{axes = [0]}"}) {
    const std::string node = "%y = MeanVarianceNormalization(%x) " + attributes;
    for (const std::string inputs : {"%x: D[3, 4, 5, 2]", "%x: D[N, 2, M, 2]", "%x: D[0, 2, 3, 2]"})
      expect_normalized(inputs, node);
    expect_family({"%x: D[2, 2, 3, 2]", node, 16, {{"x", {0.3, 0.3}}}, {"f32", "f16"}});
  }
}

TEST(NormalizationTest, LocalResponses) {
  for (const std::string attributes : {"{size = 3}", "{size = 11}", "{size = 1}",
                                       "{size = 4, alpha = 0.5, beta = 0.5, bias = 2.0}"}) {
    for (const std::string inputs :
         {"%x: D[2, 6, 3]", "%x: D[N, M]", "%x: D[N, 5, M, 2]", "%x: D[2, 0, 3]"})
      expect_family({inputs, "%y = LRN(%x) " + attributes, 16});
  }
}

}  // namespace
}  // namespace sluice::loop
