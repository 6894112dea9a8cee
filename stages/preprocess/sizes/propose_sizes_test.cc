#include "stages/preprocess/sizes/propose_sizes.h"

#include <gtest/gtest.h>

#include "common/text/text.h"
#include "stages/preprocess/sizes/open_dims.h"

namespace sluice {
namespace {

SizeProposal proposal_of(std::string_view text) {
  auto module = parse_module(text, "test");
  EXPECT_TRUE(module) << error_text(module.error());
  auto proposal = propose_sizes(*module, {});
  EXPECT_TRUE(proposal);
  return *proposal;
}

using Dims = std::vector<std::string>;

TEST(ProposeSizesTest, ImagesOfTheUsualSizeThatADivisorAllows) {
  const SizeProposal proposal = proposal_of(R"(sluice 1 typed
symbol N = dim(@main, %x, 0) in [1, *]
symbol H = dim(@main, %x, 2) in [1, *]
symbol W = dim(@main, %x, 3) in [1, 100] multiple 48
graph @main(%x: f32[N, 3, H, W]) -> (%y) {
  %y: f32[N, 3, H, W] = Relu(%x)
}
)");
  EXPECT_EQ(proposal.dims, (Dims{"N=1", "H=224", "W=96"}));
  EXPECT_EQ(proposal.tries, 1U);
}

TEST(ProposeSizesTest, ASizeThatASumOfOthersNeeds) {
  const SizeProposal proposal = proposal_of(R"(sluice 1 typed
symbol A = dim(@main, %x, 1) in [1, *]
symbol B = dim(@main, %y, 1) in [1, *]
symbol C = dim(@main, %m, 1) in [2, *]
graph @main(%x: f32[2, A], %y: f32[2, B], %m: f32[2, C]) -> (%z) {
  %c: f32[2, A + B] = Concat(%x, %y) {axis = 1}
  %z: f32[2, ?] = Add(%c, %m)
}
)");
  EXPECT_EQ(proposal.dims, (Dims{"A=1", "B=1", "C=2"}));
}

TEST(ProposeSizesTest, NothingIsOpen) {
  const SizeProposal proposal = proposal_of(
      "sluice 1 typed\ngraph @main(%x: f32[2]) -> (%y) {\n  %y: f32[2] = Relu(%x)\n}\n");
  EXPECT_EQ(proposal.tries, 0U);
}

TEST(ProposeSizesTest, FittingSizesKeepTheBounds) {
  EXPECT_EQ(fitting_size({.low = 1, .high = INT64_MAX, .divisor = 32}, 224), 224);
  EXPECT_EQ(fitting_size({.low = 1, .high = INT64_MAX, .divisor = 32}, 1), 32);
  EXPECT_EQ(fitting_size({.low = 10, .high = 64, .divisor = 1}, 128), 64);
  EXPECT_EQ(fitting_size({.low = 10, .high = 15, .divisor = 8}, 1), std::nullopt);
}

}  // namespace
}  // namespace sluice
