#include "common/loop/testing/family_case.h"

namespace sluice::loop {
namespace {

// Labels from 0 to 4; of 4 classes, 4 is none.
void expect_loss(const std::string& node, const std::string& attributes, double highest) {
  const std::map<std::string, std::pair<double, double>> ranges = {
      {"x", {-3, 3}}, {"t", {0, highest}}, {"w", {0.5, 2}}};
  for (const std::string label : {"i64", "i32"}) {
    for (const auto& [scores, labels] : std::vector<std::pair<std::string, std::string>>{
             {"N, 4", "N"}, {"N, 4, M", "N, M"}, {"2, 4, 3, 2", "2, 3, 2"}}) {
      const std::string inputs = "%x: D[" + scores + "], %t: " + label + "[" + labels + "]";
      expect_family({inputs, node + "(%x, %t) {" + attributes + "}", 32, ranges});
      expect_family(
          {inputs + ", %w: D[4]", node + "(%x, %t, %w) {" + attributes + "}", 32, ranges});
    }
  }
}

TEST(LossTest, LikelihoodsOfLabels) {
  const std::string node = "%y = NegativeLogLikelihoodLoss";
  for (const std::string reduction : {"none", "sum", "mean"}) {
    const std::string attributes = "reduction = \"" + reduction + "\"";
    expect_loss(node, attributes, 3);
    expect_loss(node, attributes + ", ignore_index = 4", 4);
    expect_loss(node, attributes + ", ignore_index = 1", 3);
  }
}

TEST(LossTest, CrossEntropies) {
  for (const std::string node :
       {"%y = SoftmaxCrossEntropyLoss", "%y, %p = SoftmaxCrossEntropyLoss"}) {
    expect_loss(node, "reduction = \"none\"", 3);
    expect_loss(node, "reduction = \"none\", ignore_index = 4", 4);
  }
}

TEST(LossTest, OtherLabelsAreFaults) {
  for (const double label : {-1.0, 4.0}) {
    LoweringCase test{one_node("%x: f32[2, 4], %t: i64[2]",
                               "%y = NegativeLogLikelihoodLoss(%x, %t) {reduction = \"sum\"}")};
    test.ranges = {{"t", {label, label}}};
    EXPECT_EQ(lowering_difference(test), "");
  }
}

}  // namespace
}  // namespace sluice::loop
