// The chains that define a packing must agree with what kernels read, and with the loops that pack,
// and lead back to the weight.
#include "stages/subgraph-optimize/engines/aicore/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "common/eval/eval.h"
#include "common/loop/interpreter.h"
#include "stages/subgraph-optimize/codegen/testing/kernels.h"
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

std::vector<float> run_loops(const loop::Packing& packing, const std::vector<float>& from,
                             size_t elements) {
  loop::LoopGraph graph = loop::packing_loops(packing);
  std::vector<int64_t> sizes;
  for (const loop::Buffer& buffer : graph.buffers) {
    for (const ExpressionId dim : buffer.dims) sizes.push_back(*graph.expressions.as_constant(dim));
  }
  EXPECT_EQ(graph.expressions.as_constant(loop::stored_elements(graph, graph.buffers[0])),
            static_cast<int64_t>(elements));
  std::vector<float> operand = from, packed(elements, -1.0f);
  std::byte* operands[] = {reinterpret_cast<std::byte*>(packed.data()),
                           reinterpret_cast<std::byte*>(operand.data())};
  const auto run = loop::interpret(graph, sizes, operands);
  EXPECT_TRUE(run.ok()) << error_text(run.error());
  return packed;
}

// expected: what the generators of kernels say of the packing.
template <typename Packing>
void check(const std::vector<int64_t>& dims, const Packing& packing,
           const StridedPacking& expected) {
  std::vector<float> weight(static_cast<size_t>(
      std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>())));
  std::iota(weight.begin(), weight.end(), 1.0f);
  const std::vector<float> packed =
      evaluate_chain(dims, weight, [&](Chain& chain) { packing.pack(chain); });
  EXPECT_EQ(packed, reference_pack(expected, weight.data()));
  EXPECT_EQ(packed, run_loops(packing.loops(), weight, packed.size()));
  const auto there_and_back = [&](Chain& chain) {
    packing.pack(chain);
    packing.unpack(chain);
  };
  EXPECT_EQ(evaluate_chain(dims, weight, there_and_back), weight);
}

TEST(Packing, Matrices) {
  for (const int64_t nr : {1, 4, 5, 16}) {
    const int64_t k = 7, n = 12;
    check({3, k, n}, MatrixPacking{{3}, k, n, false, nr}, {{{3, k * n}}, {{k, n}}, {n, 1}, nr});
    check({n, k}, MatrixPacking{{}, k, n, true, nr}, {{}, {{k, 1}}, {n, k}, nr});
  }
}

// The layout does not depend on the elements: these are f32.
TEST(Packing, MatricesInPairs) {
  for (const int64_t k : {1, 2, 7, 8}) {
    for (const bool transposed : {false, true}) {
      const int64_t n = 12, nr = 5;
      const std::vector<int64_t> dims =
          transposed ? std::vector{int64_t{3}, n, k} : std::vector{int64_t{3}, k, n};
      std::vector<float> weight(static_cast<size_t>(3 * k * n));
      std::iota(weight.begin(), weight.end(), 1.0f);
      const MatrixPacking packing{{3}, k, n, transposed, nr, DType::kBF16, true};
      const StridedPacking single{
          {{3, k * n}}, {{k, transposed ? 1 : n}}, {n, transposed ? k : 1}, nr};
      const std::vector<float> expected = in_pairs(reference_pack(single, weight.data()), k, nr);
      EXPECT_EQ(evaluate_chain(dims, weight, [&](Chain& chain) { packing.pack(chain); }), expected);
      loop::Packing loops = packing.loops();
      loops.operand = loops.packed = DType::kF32;
      EXPECT_EQ(run_loops(loops, weight, expected.size()), expected);
      const auto there_and_back = [&](Chain& chain) {
        packing.pack(chain);
        packing.unpack(chain);
      };
      EXPECT_EQ(evaluate_chain(dims, weight, there_and_back), weight);
    }
  }
}

TEST(Packing, ConvOfBothOrders) {
  ConvSpec conv;
  conv.ci = 8, conv.co = 12, conv.kh = 2, conv.kw = 3, conv.groups = 2;
  for (const int64_t nr : {1, 4, 5, 6, 16}) {
    check({12, 4, 2, 3}, ConvPacking{12, 4, 2, 3, 2, nr, false}, conv_weight_packing(conv, nr));
    check({12, 4, 2, 3}, ConvPacking{12, 4, 2, 3, 2, nr, true}, direct_weight_packing(conv, nr));
  }
}

TEST(Packing, ConvOfThreeAxes) {
  ConvSpec conv;
  conv.ci = 6, conv.co = 10, conv.kh = 2, conv.kw = 3, conv.groups = 2, conv.depth.kernel = 4;
  for (const int64_t nr : {1, 8, 16}) {
    const ConvPacking packing{10, 3, 2, 3, 2, nr, false, 4};
    check({10, 3, 4, 2, 3}, packing, conv_weight_packing(conv, nr));
    ConvPacking direct = packing;
    direct.is_direct = true;
    check({10, 3, 4, 2, 3}, direct, direct_weight_packing(conv, nr));
  }
}

TEST(Packing, ConvInPairs) {
  ConvSpec conv;
  conv.ci = 8, conv.co = 12, conv.kh = 2, conv.kw = 3, conv.groups = 2;
  const std::vector<int64_t> dims = {12, 4, 2, 3};
  std::vector<float> weight(size_t{12} * 4 * 2 * 3);
  std::iota(weight.begin(), weight.end(), 1.0f);
  for (const int64_t nr : {1, 4, 5, 16}) {
    const ConvPacking packing{12, 4, 2, 3, 2, nr, false, 0, DType::kF32, true};
    const std::vector<float> expected =
        in_pairs(reference_pack(conv_weight_packing(conv, nr), weight.data()), 24, nr);
    EXPECT_EQ(evaluate_chain(dims, weight, [&](Chain& chain) { packing.pack(chain); }), expected);
    EXPECT_EQ(run_loops(packing.loops(), weight, expected.size()), expected);
    const auto there_and_back = [&](Chain& chain) {
      packing.pack(chain);
      packing.unpack(chain);
    };
    EXPECT_EQ(evaluate_chain(dims, weight, there_and_back), weight);
  }
}

TEST(Packing, Depthwise) {
  ConvSpec conv;
  conv.ci = conv.co = conv.groups = 7, conv.kh = 3, conv.kw = 2;
  for (const int64_t nr : {7, 8, 16})
    check({7, 1, 3, 2}, DepthwisePacking{7, 3, 2, nr}, depthwise_weight_packing(conv, nr));
}

}  // namespace
}  // namespace sluice
