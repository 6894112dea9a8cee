// The chains that define a packing must agree with the kernels that pack, and lead back to the
// weight.
#include "stages/subgraph-optimize/engines/aicore/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "common/eval/eval.h"
#include "stages/subgraph-optimize/codegen/codegen_testing.h"
#include "stages/subgraph-optimize/codegen/conv_kinds.h"
#include "stages/subgraph-optimize/engines/aicore/lowering.h"

namespace sluice {
namespace {

std::vector<float> evaluate_chain(std::vector<int64_t> dims, const std::vector<float>& from,
                                  const BuildChain& build) {
  Module module;
  Graph& graph = module.add_graph("chain");
  Chain chain(graph, graph.add_input(module.intern(Type::fixed_tensor(DType::kF32, dims)), "in"));
  build(chain);
  graph.add_output(chain.value());
  Tensor tensor = make_tensor(DType::kF32, dims);
  std::copy(from.begin(), from.end(), tensor.as<float>().begin());
  auto result = evaluate_graph(graph, {EvalValue::of(std::move(tensor))});
  EXPECT_TRUE(result.ok()) << error_text(result.error());
  const auto made = (*result)[0].tensor->as<float>();
  return {made.begin(), made.end()};
}

void check(const std::vector<int64_t>& dims, const BuildChain& pack, const BuildChain& unpack,
           const PackSpec& spec) {
  std::vector<float> weight(static_cast<size_t>(
      std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>())));
  std::iota(weight.begin(), weight.end(), 1.0f);
  EXPECT_EQ(evaluate_chain(dims, weight, pack), reference_pack(spec, weight.data()));
  const auto there_and_back = [&](Chain& chain) {
    pack(chain);
    unpack(chain);
    EXPECT_EQ(chain.dims(), dims);
  };
  EXPECT_EQ(evaluate_chain(dims, weight, there_and_back), weight);
}

TEST(Packing, ConvOfBothOrders) {
  for (const bool is_direct : {false, true}) {
    for (const int64_t nr : {1, 4, 5, 6, 16}) {
      const ConvPacking packing{12, 4, 2, 3, 2, nr, is_direct};
      const auto pack = [&](Chain& chain) { packing.pack(chain); };
      const auto unpack = [&](Chain& chain) { packing.unpack(chain); };
      check({12, 4, 2, 3}, pack, unpack, packing.spec());
    }
  }
}

TEST(Packing, SpecsAgreeWithTheGenerators) {
  ConvSpec conv;
  conv.ci = 8, conv.co = 12, conv.kh = 2, conv.kw = 3, conv.groups = 2;
  const ConvPacking packing{12, 4, 2, 3, 2, 5, true};
  EXPECT_EQ(canonical_text(packing.spec()), canonical_text(direct_weight_packing(conv, 5)));
}

TEST(Packing, Depthwise) {
  for (const int64_t nr : {7, 8, 16}) {
    const DepthwisePacking packing{7, 3, 2, nr};
    ConvSpec conv;
    conv.ci = conv.co = conv.groups = 7, conv.kh = 3, conv.kw = 2;
    const auto pack = [&](Chain& chain) { packing.pack(chain); };
    const auto unpack = [&](Chain& chain) { packing.unpack(chain); };
    check({7, 1, 3, 2}, pack, unpack, depthwise_weight_packing(conv, nr));
  }
}

}  // namespace
}  // namespace sluice
