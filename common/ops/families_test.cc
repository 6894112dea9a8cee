// What each family infers, as a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/ops/infer_test.h"
#include "common/ops/op_table.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

void expect_case(const InferCase& wanted, size_t index) {
  const auto found = infer_case(wanted);
  if (wanted.results[0].starts_with("error ")) {
    EXPECT_THAT(found[0], testing::HasSubstr(wanted.results[0].substr(6))) << "case " << index << " " << op_name(wanted.op);
  } else {
    EXPECT_EQ(found, wanted.results) << "case " << index << " " << op_name(wanted.op);
  }
}

void expect_cases(const std::vector<InferCase>& cases) {
  for (size_t i = 0; i < cases.size(); ++i) expect_case(cases[i], i);
}

TEST(Families, Elementwise) {
  expect_cases({
      {Op::kRelu, {"f32[N, 3]"}, {}, {"f32[N, 3]"}},
      {Op::kRelu, {"f32"}, {}, {"f32 of unknown rank"}},
      {Op::kRelu, {"?"}, {}, {"? of unknown rank"}},
      {Op::kRelu, {"bool[1]"}, {}, {"error input 'a' is bool, expected one of"}},
      {Op::kRelu, {"f32[1]", "f32[1]"}, {}, {"error has 2 inputs, expected 1"}},
      {Op::kRelu, {"f32[1]"}, {{"axis", int64_t{1}}}, {"error has no attribute 'axis'"}},
      {Op::kDropout, {"f32[2]", "f32(0.5)"}, {}, {"f32[2]", "bool[2]"}},
      {Op::kDropout, {"i64[]", "i64[]", "i64[]"}, {}, {"error input 'a' is i64, expected one of"}},
      {Op::kCast, {"f32[2]"}, {{"to", int64_t{7}}}, {"i64[2]"}},
      {Op::kCast, {"f32[2]"}, {{"to", int64_t{99}}}, {"error names no dtype"}},
      {Op::kAdd, {"f32[N, 1, 4]", "f32[3, 1]"}, {}, {"f32[N, 3, 4]"}},
      {Op::kAdd, {"f32[N]", "f32[5]"}, {}, {"f32[5]"}},
      {Op::kAdd, {"f32[N]", "f32[M]"}, {}, {"f32[max(N, M)]"}},
      {Op::kAdd, {"f32[2, 3]", "f32[2]"}, {}, {"error shapes [2, 3] and [2] do not broadcast"}},
      {Op::kAdd, {"f32[2]", "i64[2]"}, {}, {"error input 'b' is i64, but input 'a' is f32"}},
      {Op::kEqual, {"i64[2, 1]", "i64[3]"}, {}, {"bool[2, 3]"}},
      {Op::kWhere, {"bool[2, 1]", "f32[3]", "f32[]"}, {}, {"f32[2, 3]"}},
      {Op::kPRelu, {"f32[2, 3]", "f32[4, 2, 3]"}, {}, {"error differ"}},
      {Op::kSwiGLU, {"f16[N, 3]", "f16[2, ?]"}, {{"alpha", 0.5f}}, {"f16[2, 3]"}},
      {Op::kSwiGLU, {"f32", "f32[3]"}, {}, {"f32[3]"}},
      {Op::kSwiGLU, {"f32[2, 3]", "f32[3]"}, {}, {"error shapes of input 'a' and input 'b' differ: [2, 3] and [3]"}},
      {Op::kSwiGLU, {"f32[1]", "f32[2]"}, {}, {"error shapes of input 'a' and input 'b' differ"}},
      {Op::kSwiGLU, {"i32[2]", "i32[2]"}, {}, {"error input 'a' is i32, expected one of"}},
      {Op::kSwiGLU, {"f32[2]", "f16[2]"}, {}, {"error input 'b' is f16, but input 'a' is f32"}},
      {Op::kSwiGLU, {"f32[2]", "f32[2]"}, {{"alpha", int64_t{1}}}, {"error attribute 'alpha' is of kind"}},
      {Op::kSum, {"f32[2, 1]", "f32[3]", "f32[4, 1, 1]"}, {}, {"f32[4, 2, 3]"}},
  });
}

// Kernels read their operands as what these say: an element of another size would lie behind the tensor's end.
TEST(Families, OperandsOfAnotherDtypeAreRefused) {
  expect_cases({
      {Op::kRNN, {"f32[2, 1, 3]", "bool[1, 4, 3]", "f32[1, 4, 4]"}, {}, {"error input 'b' is bool, but input 'a' is f32"}},
      {Op::kGRU, {"f32[2, 1, 3]", "f32[1, 12, 3]", "string[1, 12, 4]"}, {}, {"error input 'c' is string, but input 'a' is f32"}},
      {Op::kNegativeLogLikelihoodLoss, {"f64[3, 5]", "i64[3]", "f32[5]"}, {}, {"error input 'c' is f32, but input 'a' is f64"}},
      {Op::kQuantizeLinear, {"f32[2]", "string[]"}, {}, {"error input 'b' is string, expected one of"}},
      {Op::kDequantizeLinear, {"u8[2]", "c64[]"}, {}, {"error input 'b' is c64, expected one of"}},
      {Op::kOneHot, {"i64[2]", "string[]", "f32[2]"}, {}, {"error input 'b' is string, expected one of"}},
      {Op::kUnsqueeze, {"f32[2]", "f32[1]"}, {}, {"error input 'b' is f32, expected one of i32, i64"}},
      {Op::kGridSample, {"f32[N, 3, 4, 5]", "string[N, 6, 7, 2]"}, {}, {"error input 'b' is string, expected one of"}},
      {Op::kEyeLike, {"string[2, 2]"}, {}, {"error input 'a' is string, expected one of"}},
  });
}

TEST(Families, MachineLearning) {
  const auto tree = [](Ints true_ids, Ints targets) {
    return std::vector<Attribute>{{"leaf_targetids", std::move(targets)},
                                  {"n_targets", int64_t{3}},
                                  {"nodes_falseleafs", Ints{1}},
                                  {"nodes_falsenodeids", Ints{1}},
                                  {"nodes_featureids", Ints{0}},
                                  {"nodes_trueleafs", Ints{1}},
                                  {"nodes_truenodeids", std::move(true_ids)},
                                  {"tree_roots", Ints{0}}};
  };
  expect_cases({
      {Op::kLabelEncoder, {"string[N, 2]", "string[3]", "i16[3]", "i16[1]"}, {}, {"i16[N, 2]"}},
      {Op::kLabelEncoder, {"string[N]", "i64[3]", "i64[3]", "i64[]"}, {}, {"error input 'b' is i64, but input 'a' is string"}},
      {Op::kLabelEncoder, {"i64[N]", "i64[3]", "f32[2]", "f32[]"}, {}, {"error keys and values"}},
      {Op::kOneHotEncoder, {"i64[N]", "i64[4]"}, {}, {"f32[N, 4]"}},
      {Op::kZipMap, {"f32[N, 3]", "string[3]"}, {}, {"sequence(map(string, f32[]))"}},
      {Op::kZipMap, {"f32[3]", "i64[3]"}, {}, {"sequence(map(i64, f32[]))"}},
      {Op::kZipMap, {"f32[N, 2]", "i64[3]"}, {}, {"error columns and keys"}},
      {Op::kZipMap, {"f64[N, 3]", "i64[3]"}, {}, {"error input 'a' is f64, expected one of f32"}},
      {Op::kZipMap, {"f32[N, 3, 1]", "i64[1]"}, {}, {"error input 'a' has rank 3"}},
      {Op::kDictVectorizer, {"map(string, f64)", "string[3]"}, {}, {"f64[1, 3]"}},
      {Op::kDictVectorizer, {"map(string, f64)", "i64[3]"}, {}, {"error input 'a' has keys of string, its vocabulary is of i64"}},
      {Op::kZipMap, {"map(i64, f32)", "i64[3]"}, {}, {"error input 'a' is not a tensor"}},
      {Op::kDictVectorizer, {"f32[3]", "i64[3]"}, {}, {"error input 'a' is not a map"}},
      {Op::kTreeEnsemble, {"f64[N, 2]", "f64[1]", "u8[1]", "f64[2]"}, tree({0}, {0, 2}), {"f64[N, 3]"}},
      {Op::kTreeEnsemble, {"f32[N, 2]", "f32[2]", "u8[1]", "f32[2]"}, tree({0}, {0, 2}), {"error nodes"}},
      {Op::kTreeEnsemble, {"f32[N, 2]", "f32[1]", "u8[1]", "f32[2]"}, tree({0}, {0, 3}), {"error 'leaf_targetids' has the element 3"}},
      {Op::kTreeEnsemble, {"f32[N, 2]", "f32[1]", "u8[1]", "f32[2]"}, tree({0, 0}, {0, 0}), {"error 'nodes_truenodeids' has 2 elements"}},
  });
}

TEST(Families, Reduction) {
  expect_cases({
      {Op::kReduceMean, {"f32[N, 3, 4]", "i64{-1, 0}"}, {}, {"f32[1, 3, 1]"}},
      {Op::kReduceMean, {"f32[N, 3, 4]", "i64{1}"}, {{"keepdims", int64_t{0}}}, {"f32[N, 4]"}},
      {Op::kReduceMean, {"f32[N, 3]"}, {{"keepdims", int64_t{0}}}, {"f32[]"}},
      {Op::kReduceSum, {"f32[N, 3]"}, {{"noop_with_empty_axes", int64_t{1}}}, {"f32[N, 3]"}},
      {Op::kReduceSum, {"f32[N, 3]", "i64[1]"}, {{"keepdims", int64_t{0}}}, {"f32[?]"}},
      {Op::kReduceSum, {"f32[N, 3]", "i64{2}"}, {}, {"error axis 2 is outside [-2, 1]"}},
      {Op::kReduceSum, {"f32[N, 3]", "i64{1, -1}"}, {}, {"error axis -1 is named twice"}},
      {Op::kArgMax, {"f32[N, 3]"}, {{"axis", int64_t{1}}}, {"i64[N, 1]"}},
      {Op::kArgMax, {"f32[0, 3]"}, {{"axis", int64_t{1}}}, {"i64[0, 1]"}},
      {Op::kArgMax, {"f32[2, 0]"}, {{"axis", int64_t{1}}}, {"error axis 1 of input 'a' has no elements"}},
  });
}

TEST(Families, Shape) {
  expect_cases({
      {Op::kReshape, {"f32[2, 3, 4]", "i64{0, -1}"}, {}, {"f32[2, 12]"}},
      {Op::kReshape, {"f32[N, 12, 64]", "i64{0, 0, 8, -1}"}, {}, {"f32[N, 12, 8, 8]"}},
      {Op::kReshape, {"f32[N, M, 12, 64]", "i64{-1, 768}"}, {}, {"f32[N*M, 768]"}},
      {Op::kReshape, {"f32[?, 12]", "i64{0, 3, -1}"}, {}, {"f32[?, 3, 4]"}},
      {Op::kReshape, {"f32[2, 3]", "i64[3]"}, {}, {"f32[?, ?, ?]"}},
      {Op::kReshape, {"f32[2, 3]", "i64{4, -1}"}, {}, {"error 6 elements do not fit a target shape of 4 times -1"}},
      {Op::kReshape, {"f32[0, 3]", "i64[0]"}, {}, {"error 0 elements do not fit a target shape of 1"}},
      {Op::kReshape, {"f32[2, 3]", "i64{6, 0}"}, {{"allowzero", int64_t{1}}}, {"error 6 elements do not fit a target shape of 0"}},
      {Op::kReshape, {"f32[0, 3]", "i64{0, 5}"}, {}, {"f32[0, 5]"}},
      {Op::kReshape, {"f32[0, 3]", "i64{5, -1}"}, {}, {"f32[5, 0]"}},
      {Op::kReshape, {"f32[1, 1]", "i64[0]"}, {}, {"f32[]"}},
      {Op::kReshape, {"f32[2, 3]", "i64{-1, -1}"}, {}, {"error more than one -1"}},
      {Op::kReshape, {"f32[4611686018427387904, 4]", "i64{-1}"}, {}, {"error too many elements"}},
      {Op::kTranspose, {"f32[2, N, 4]"}, {{"perm", Ints{2, 0, 1}}}, {"f32[4, 2, N]"}},
      {Op::kTranspose, {"f32[2, N, 4]"}, {}, {"f32[4, N, 2]"}},
      {Op::kTranspose, {"f32[2, 3]"}, {{"perm", Ints{0, 0}}}, {"error named twice"}},
      {Op::kSqueeze, {"f32[1, N, 1]", "i64{-1}"}, {}, {"f32[1, N]"}},
      {Op::kSqueeze, {"f32[1, 3, 1]"}, {}, {"f32[3]"}},
      {Op::kSqueeze, {"f32[1, N]"}, {}, {"f32 of unknown rank"}},
      {Op::kSqueeze, {"f32[2]", "i64{0}"}, {}, {"error dim 0 of input 'a' is not 1"}},
      {Op::kUnsqueeze, {"f32[N, 3]", "i64{0, -1}"}, {}, {"f32[1, N, 3, 1]"}},
      {Op::kFlatten, {"f32[N, 3, 4]"}, {{"axis", int64_t{-1}}}, {"f32[3*N, 4]"}},
      {Op::kExpand, {"f32[3, 1]", "i64{2, 1, 4}"}, {}, {"f32[2, 3, 4]"}},
      {Op::kShape, {"f32[N, 3, 4]"}, {{"start", int64_t{-2}}}, {"i64[2]"}},
      {Op::kConcat, {"f32[N, 3]", "f32[?, 4]"}, {{"axis", int64_t{-1}}}, {"f32[N, 7]"}},
      {Op::kConcat, {"f32[2, 3]", "f32[3, 4]"}, {{"axis", int64_t{1}}}, {"error dims 0 of the inputs differ: [2, 3]"}},
      {Op::kSplit, {"f32[7, 2]"}, {{"num_outputs", int64_t{3}}}, {"f32[3, 2]", "f32[3, 2]", "f32[1, 2]"}},
      {Op::kSplit, {"f32[2]"}, {{"num_outputs", int64_t{3}}}, {"f32[1]", "f32[1]", "f32[0]"}},
      {Op::kSplit, {"f32[5]"}, {{"num_outputs", int64_t{4}}}, {"error 5 elements cannot be split into 4 pieces", "", "", ""}},
      {Op::kSplit, {"f32[7, 2]", "i64{2, 5}"}, {}, {"f32[2, 2]", "f32[5, 2]"}},
      {Op::kTile, {"f32[N, 2]", "i64{2, 3}"}, {}, {"f32[2*N, 6]"}},
      {Op::kTile, {"f32[2, 2, 2]", "i64{0, 4611686018427387904, 4611686018427387904}"}, {}, {"error too many elements"}},
      {Op::kPad, {"f32[N, 5]", "i64{0, 1, 2, -3}"}, {}, {"f32[N + 2, 3]"}},
      {Op::kPad, {"f32[2]", "i64{-1, -2}"}, {}, {"error its result would have the shape [-1]"}},
      {Op::kDepthToSpace, {"f32[N, 8, 2, 3]"}, {{"blocksize", int64_t{2}}}, {"f32[N, 2, 4, 6]"}},
      {Op::kDepthToSpace, {"f32[N, 6, 2, 3]"}, {{"blocksize", int64_t{2}}}, {"error 6 channels"}},
  });
}

TEST(Families, Indexing) {
  expect_cases({
      {Op::kGather, {"f32[N, 3]", "i64[4, 5]"}, {{"axis", int64_t{1}}}, {"f32[N, 4, 5]"}},
      {Op::kGather, {"f32[]", "i64[4]"}, {}, {"error rank 0, expected at least 1"}},
      {Op::kGatherElements, {"f32[2, 3]", "i64[2, 1]"}, {{"axis", int64_t{1}}}, {"f32[2, 1]"}},
      {Op::kGatherND, {"f32[2, 3, 4]", "i64[2, 1]"}, {{"batch_dims", int64_t{1}}}, {"f32[2, 4]"}},
      {Op::kSlice, {"f32[10, N]", "i64{1, 0}", "i64{-1, 9223372036854775807}"}, {}, {"f32[8, N]"}},
      {Op::kSlice, {"f32[10]", "i64{-1}", "i64{-100}", "_", "i64{-3}"}, {}, {"f32[4]"}},
      {Op::kSlice, {"f32[N]", "i64{0}", "i64{-1}"}, {}, {"f32[N - 1]"}},
      {Op::kSlice, {"f32[N]", "i64{-1}", "i64{-9223372036854775807}", "i64{0}", "i64{-1}"}, {}, {"f32[N]"}},
      {Op::kSlice, {"f32[3]", "i64{0}", "i64{9}", "i64{0}", "i64{9223372036854775807}"}, {}, {"f32[1]"}},
      {Op::kSlice, {"f32[3]", "i64{2}", "i64{-9}", "i64{0}", "i64{-9223372036854775807}"}, {}, {"f32[1]"}},
      {Op::kSlice, {"f32[3, 3]", "i64{0}", "i64{1}", "i64{5}"}, {}, {"error axis 5"}},
      {Op::kSlice, {"f32[3]", "i64{0}", "i64{1}", "i64{0}", "i64{0}"}, {}, {"error a step is 0"}},
  });
}

TEST(Families, Contraction) {
  const Attribute pads{"pads", Ints{1, 1, 1, 1}};
  const Attribute strides{"strides", Ints{2, 2}};
  expect_cases({
      {Op::kConv, {"f32[N, 3, 224, 224]", "f32[64, 3, 7, 7]"}, {{"pads", Ints{3, 3, 3, 3}}, strides}, {"f32[N, 64, 112, 112]"}},
      {Op::kConv,
       {"f32[1, 8, H, W]", "f32[8, 1, 3, 3]", "f32[8]"},
       {pads, strides, {"group", int64_t{8}}},
       {"f32[1, 8, floordiv(H + 1, 2), floordiv(W + 1, 2)]"}},
      {Op::kConv, {"f32[1, 3, 8, 8]", "f32[4, 3, 3]"}, {}, {"error input 'b' has rank 3, expected 4"}},
      {Op::kConv, {"f32[1, 3, 8, 8]", "f32[4, 4, 3, 3]"}, {}, {"error channels of input 'a' and of input 'b' times group 1 differ"}},
      {Op::kConv, {"f32[1, 3, 2, 2]", "f32[4, 3, 3, 3]"}, {}, {"error a window of 3 does not fit into 2"}},
      {Op::kMaxPool, {"f32[1, 2, 4]"}, {{"kernel_shape", Ints{5}}}, {"error a window of 5 does not fit into 4 with pads 0 and 0"}},
      {Op::kConv, {"f32[1, 3, 8, 8]", "f32[4, 3, 3, 3]"}, {{"strides", Ints{0, 1}}}, {"error attribute 'strides' has the element 0"}},
      {Op::kConv, {"f32[1, 3, 8, 8]", "f32[4, 3, 3, 3]"}, {{"pads", Ints{-1, 0, 0, 0}}}, {"error attribute 'pads' has the element -1"}},
      {Op::kConv, {"f32[1, 3, 8, 8]", "f32[4, 3, 3, 3]"}, {{"group", int64_t{0}}}, {"error attribute 'group' is 0"}},
      {Op::kConv, {"f32[1, 3, 8, 8]", "f32[4, 3, 3, 3]"}, {{"dilations", Ints{INT64_MAX, 1}}}, {"error does not fit"}},
      {Op::kConvTranspose, {"f32[1, 3, 3, W]", "f32[3, 2, 3, 3]"}, {strides, pads}, {"f32[1, 2, 5, 2*W - 1]"}},
      {Op::kMatMul, {"f32[N, 1, 5, 3]", "f32[4, 3, 2]"}, {}, {"f32[N, 4, 5, 2]"}},
      {Op::kMatMul, {"f32[3]", "f32[3]"}, {}, {"f32[]"}},
      {Op::kMatMul, {"i8[3, 3]", "i8[3, 3]"}, {}, {"error input 'a' is i8, expected one of"}},
      {Op::kMatMul, {"u16[3, 3]", "u16[3, 3]"}, {}, {"error input 'a' is u16, expected one of"}},
      {Op::kMatMul, {"u32[3, 3]", "u32[3, 3]"}, {}, {"u32[3, 3]"}},
      {Op::kMatMul, {"f32[2, 3]", "f32[2, 3]"}, {}, {"error inner dims of input 'a' and input 'b' differ: [3, 2]"}},
      {Op::kGemm, {"f32[N, 3]", "f32[5, 3]", "f32[5]"}, {{"transB", int64_t{1}}}, {"f32[N, 5]"}},
      {Op::kMaxPool, {"f32[1, 2, 7, H]"}, {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 2}}}, {"f32[1, 2, 3, floordiv(H, 2)]"}},
      {Op::kMaxPool,
       {"f32[1, 1, 2, 2]"},
       {{"kernel_shape", Ints{1, 1}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}},
       {"f32[1, 1, 1, 1]", "i64[1, 1, 1, 1]"}},
      {Op::kGlobalAveragePool, {"f32[N, 8, 7, W]"}, {}, {"f32[N, 8, 1, 1]"}},
      {Op::kBatchNormalization, {"f32[N, 8, W]", "f32[8]", "f32[8]", "f32[8]", "f32[7]"}, {}, {"error differ: [8, 7]"}},
      {Op::kLayerNormalization, {"f32[N, 8, 4]", "f32[4]"}, {}, {"f32[N, 8, 4]", "f32[N, 8, 1]"}},
      {Op::kLayerNormalization, {"f32[2, 8, 4]", "f32[1, 1, 4]"}, {}, {"f32[2, 8, 4]"}},
      {Op::kLayerNormalization, {"f32[2, 8, 4]", "f32[8]"}, {}, {"error shapes [4] and [8] do not broadcast"}},
      {Op::kLayerNormalization, {"f32[2, 8, 4]", "f32[2, 1, 4]"}, {}, {"f32[2, 8, 4]"}},
      {Op::kLayerNormalization, {"f32[1, 8, 4]", "f32[2, 8, 4]"}, {}, {"error the dims and input 'b' spread to them differ"}},
      {Op::kLayerNormalization, {"f32[2, 8, 4]", "f32[8, 4]"}, {{"axis", int64_t{1}}}, {"f32[2, 8, 4]"}},
      {Op::kSoftmax, {"f32[N]"}, {{"axis", int64_t{1}}}, {"error axis 1 is outside [-1, 0]"}},
      {Op::kResize, {"f32[1, 3, H, 5]", "_", "f32{1, 1, 2, 0.5}"}, {}, {"f32[1, 3, 2*H, 2]"}},
      {Op::kResize, {"f32[1, 3, H, 5]", "_", "_", "i64{1, 3, 8, 9}"}, {}, {"f32[1, 3, 8, 9]"}},
      {Op::kQuantizeLinear, {"f32[N, 3]", "f32[3]", "i8[3]"}, {}, {"i8[N, 3]"}},
      {Op::kQuantizeLinear, {"f32[N, 3]", "f32[4]", "i8[4]"}, {}, {"error dim 1 of input 'a' and scales differ: [3, 4]"}},
      {Op::kConstantOfShape, {"i64{2, 3}"}, {}, {"f32[2, 3]"}},
      {Op::kRange, {"i64(2)", "i64(9)", "i64(3)"}, {}, {"i64[3]"}},
      {Op::kRange, {"f32(1)", "f32(2)", "f32(0.25)"}, {}, {"f32[4]"}},
      {Op::kRange, {"i64[]", "i64[]", "i64[]"}, {}, {"i64[s0]"}},
  });
}

TEST(Families, EveryOpHasARow) {
  for (int i = 0; i < op_count(); ++i) {
    const OpRow* row = find_op(static_cast<Op>(i));
    ASSERT_NE(row, nullptr) << op_name(static_cast<Op>(i));
    EXPECT_EQ(row->op, static_cast<Op>(i));
    EXPECT_NE(row->infer, nullptr);
  }
}

TEST(Families, Selection) {
  expect_cases({
      {Op::kNonZero, {"f32[2, N]"}, {}, {"i64[2, s1]"}},
      {Op::kCompress, {"f32[N, 3]", "bool[3]"}, {{"axis", int64_t{1}}}, {"f32[N, s1]"}},
      {Op::kUnique, {"f32[5]"}, {}, {"f32[s0]", "i64[s0]", "i64[5]", "i64[s0]"}},
      {Op::kTopK, {"f32[N, 9]", "i64{4}"}, {}, {"f32[N, 4]", "i64[N, 4]"}},
      {Op::kTopK, {"f32[N, 3]", "i64{4}"}, {}, {"error 4 elements are asked for"}},
      {Op::kOneHot, {"i64[N]", "i64(5)", "f32[2]"}, {{"axis", int64_t{0}}}, {"f32[5, N]"}},
      {Op::kCumSum, {"f32[]", "i64[]"}, {}, {"error input 'a' has rank 0, expected at least 1"}},
      {Op::kCumSum, {"f32[3]", "i64(1)"}, {}, {"error axis 1 is outside"}},
      {Op::kNonMaxSuppression, {"f32[1, 8, 4]", "f32[1, 2, 8]"}, {}, {"i64[s0, 3]"}},
      {Op::kScatterND, {"f32[4, 5]", "i64[2, 1]", "f32[2, 5]"}, {}, {"f32[4, 5]"}},
      {Op::kScatterND, {"f32[4, 5]", "i64[2, 1]", "f32[2, 4]"}, {}, {"error differ: [2, 5] and [2, 4]"}},
      {Op::kScatterElements, {"f32[4]", "i64[2]", "f32[2]"}, {{"reduction", std::string("div")}}, {"error attribute 'reduction' is 'div'"}},
  });
}

TEST(Families, RecurrentAndAttention) {
  const Attribute hidden{"hidden_size", int64_t{4}};
  expect_cases({
      {Op::kLSTM, {"f32[T, N, 3]", "f32[1, 16, 3]", "f32[1, 16, 4]"}, {hidden}, {"f32[T, 1, N, 4]", "f32[1, N, 4]", "f32[1, N, 4]"}},
      {Op::kGRU, {"f32[N, T, 3]", "f32[1, 12, 3]", "f32[1, 12, 4]"}, {hidden, {"layout", int64_t{1}}}, {"f32[N, T, 1, 4]", "f32[N, 1, 4]"}},
      {Op::kRNN, {"f32[T, N, 3]", "f32[1, 5, 3]", "f32[1, 4, 4]"}, {hidden}, {"error rows of input 'b'"}},
      {Op::kAttention,
       {"f32[N, 4, S, 8]", "f32[N, 2, T, 8]", "f32[N, 2, T, 6]", "_", "f32[N, 2, 5, 8]", "f32[N, 2, 5, 6]"},
       {},
       {"f32[N, 4, S, 6]", "f32[N, 2, T + 5, 8]", "f32[N, 2, T + 5, 6]", "f32[N, 4, S, T + 5]"}},
      {Op::kAttention,
       {"f32[N, S, 32]", "f32[N, T, 16]", "f32[N, T, 16]"},
       {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}},
       {"f32[N, S, 32]"}},
      {Op::kAttention, {"f32[N, S, 32]", "f32[N, T, 16]", "f32[N, T, 16]"}, {}, {"error attribute 'q_num_heads' is 0"}},
      {Op::kEinsum, {"f32[B, 2, 3]", "f32[B, 3, 4]"}, {{"equation", std::string("bij, bjk -> bik")}}, {"f32[B, 2, 4]"}},
      {Op::kEinsum, {"f32[5, 1, 2, 3]", "f32[4, 3, 6]"}, {{"equation", std::string("...ij,...jk")}}, {"f32[5, 4, 2, 6]"}},
      {Op::kEinsum, {"f32[2, 3]", "f32[4, 3]"}, {{"equation", std::string("ij,jk->ik")}}, {"error letter 'j' stands for different dims"}},
      {Op::kEinsum, {"f32[2]"}, {{"equation", std::string("i->%")}}, {"error '%'"}},
  });
}

// Beside attention itself: what keeps a state.
TEST(Families, LinearAttention) {
  const Attribute two{"q_num_heads", int64_t{2}};
  const Attribute four{"q_num_heads", int64_t{4}};
  const Attribute keys{"kv_num_heads", int64_t{2}};
  const Attribute linear{"update_rule", std::string("linear")};
  const Attribute gated{"update_rule", std::string("gated")};
  const std::string q = "f32[N, T, 16]", k = "f32[N, T, 8]", v = "f32[N, T, 6]";
  expect_cases({
      {Op::kLinearAttention, {q, k, v}, {four, keys, linear}, {"f32[N, T, 12]", "f32[N, 2, 4, 3]"}},
      {Op::kLinearAttention, {q, k, v, "_", k, "f32[N, T, 1]"}, {four, keys}, {"f32[N, T, 12]", "f32[N, 2, 4, 3]"}},
      {Op::kLinearAttention, {"f16[N, T, 16]", "f16", "f16", "f32[2, 2, 4, ?]"}, {four, keys, linear}, {"f16[2, T, ?]", "f32[2, 2, 4, ?]"}},
      {Op::kLinearAttention, {"f32", "f32", v, "_", "f32[N, T, 2]"}, {four, keys, gated}, {"f32[N, T, 12]", "f32[N, 2, ?, 3]"}},
      {Op::kLinearAttention, {q, k, v}, {four, keys}, {"error update rule 'gated_delta' needs input 4 (decay)"}},
      {Op::kLinearAttention, {q, k, v, "_", "_", k}, {four, keys, linear}, {"error update rule 'linear' takes no input 5 (beta)"}},
      {Op::kLinearAttention,
       {q, k, v},
       {four, keys, {"update_rule", std::string("wkv")}},
       {"error attribute 'update_rule' is 'wkv', expected"}},
      {Op::kLinearAttention, {q, k, v}, {four, linear}, {"error attribute 'kv_num_heads' is missing"}},
      {Op::kLinearAttention,
       {q, k, v},
       {{"q_num_heads", int64_t{0}}, keys, linear},
       {"error attribute 'q_num_heads' is 0, expected at least 1"}},
      {Op::kLinearAttention,
       {q, k, v},
       {{"q_num_heads", int64_t{3}}, keys, linear},
       {"error 3 query heads cannot be divided among 2 key heads"}},
      {Op::kLinearAttention,
       {q, k, "f32[N, T, 7]"},
       {four, keys, linear},
       {"error 7 elements of input 'c' cannot be divided among 2 heads"}},
      {Op::kLinearAttention, {q, k, v}, {two, keys, linear}, {"error head sizes of query and key differ: [8, 4]"}},
      {Op::kLinearAttention, {"f64[N, T, 16]", k, v}, {four, keys, linear}, {"error input 'a' is f64, expected one of"}},
      {Op::kLinearAttention, {q, "f16[N, T, 8]", v}, {four, keys, linear}, {"error input 'b' is f16, but input 'a' is f32"}},
      {Op::kLinearAttention, {"f32[N, 2, T, 8]", k, v}, {two, keys, linear}, {"error input 'a' has rank 4, expected 3"}},
      {Op::kLinearAttention,
       {"f32[2, T, 16]", k, "f32[3, T, 6]"},
       {four, keys, linear},
       {"error batch dims of input 'c' and of others differ"}},
      {Op::kLinearAttention,
       {q, k, v, "f32[N, 2, 4, 5]"},
       {four, keys, linear},
       {"error head sizes of value and past state differ: [3, 5]"}},
      {Op::kLinearAttention,
       {q, k, v, "_", "f32[N, T, 4]"},
       {four, keys, gated},
       {"error 4 elements of input 'd' fit neither 2 key heads"}},
      {Op::kLinearAttention,
       {q, k, v, "_", k, "f32[N, T, 4]"},
       {four, keys},
       {"error the last dim of input 'e' is 4, expected 1 or the 2 key"}},
  });
}

TEST(Families, CausalConvolution) {
  const Attribute silu{"activation", std::string("silu")};
  expect_cases({
      {Op::kCausalConvWithState, {"f32[N, 4, L]", "f32[4, 1, 3]"}, {silu}, {"f32[N, 4, L]", "f32[N, 4, 2]"}},
      {Op::kCausalConvWithState, {"f16[?, ?, L]", "f16[C, 1, K]", "f16[4]", "f16[2, ?, ?]"}, {}, {"f16[2, 4, L]", "f16[2, 4, K - 1]"}},
      {Op::kCausalConvWithState, {"f32", "f32[4, 1, 1]"}, {}, {"f32[?, 4, ?]", "f32[?, 4, 0]"}},
      {Op::kCausalConvWithState, {"f32[1, 4, 9]", "f32[5, 1, 3]"}, {}, {"error channels of input 'a' and input 'b' differ: [4, 5]"}},
      {Op::kCausalConvWithState, {"f32[1, 4, 9]", "f32[4, 2, 3]"}, {}, {"error channels of one filter and 1 differ: [2, 1]"}},
      {Op::kCausalConvWithState, {"f32[1, 4, 9]", "f32[4, 1, 0]"}, {}, {"error input 'b' has filters of no elements"}},
      {Op::kCausalConvWithState, {"f32[1, 4, 9, 9]", "f32[4, 1, 3]"}, {}, {"error input 'a' has rank 4, expected 3"}},
      {Op::kCausalConvWithState, {"f64[1, 4, 9]", "f64[4, 1, 3]"}, {}, {"error input 'a' is f64, expected one of"}},
      {Op::kCausalConvWithState, {"f32[1, 4, 9]", "f32[4, 1, 3]", "f32[3]"}, {}, {"error channels and the bias differ: [4, 3]"}},
      {Op::kCausalConvWithState,
       {"f32[1, 4, 9]", "f32[4, 1, 3]", "_", "f32[1, 4, 3]"},
       {},
       {"error filter size - 1 and past state differ: [2, 3]"}},
      {Op::kCausalConvWithState,
       {"f32[1, 4, 9]", "f32[4, 1, 3]"},
       {{"activation", std::string("relu")}},
       {"error attribute 'activation' is 'relu', expected none, silu or swish"}},
  });
}

TEST(Families, FlexAttention) {
  const auto precision = [](int64_t dtype) { return Attribute{"softmax_precision", dtype}; };
  expect_cases({
      {Op::kFlexAttention, {"f32[N, 4, S, 8]", "f32[?, 2, T, 8]", "f32[2, 2, T, 6]"}, {precision(10)}, {"f32[2, 4, S, 6]"}},
      {Op::kFlexAttention, {"f32[N, 4, S]", "f32", "f32"}, {}, {"error input 'a' has rank 3, expected 4"}},
      {Op::kFlexAttention, {"i64[N, 4, S, 8]", "f32", "f32"}, {}, {"error input 'a' is i64, expected one of"}},
      {Op::kFlexAttention, {"f32[N, 4, S, 8]", "f16", "f32"}, {}, {"error input 'b' is f16, but input 'a' is f32"}},
      {Op::kFlexAttention, {"f32", "f32", "f32"}, {precision(7)}, {"error attribute 'softmax_precision' is 7, expected 1 (f32)"}},
      {Op::kFlexAttention, {"f32[1, 4, 5, 8]", "f32[1, 3, 6, 8]", "f32"}, {}, {"error 4 query heads cannot be divided among 3 key heads"}},
      {Op::kFlexAttention, {"f32[1, 4, 5, 8]", "f32[1, 2, 6, 8]", "f32[1, 4, 6, 8]"}, {}, {"error heads of key and value differ: [2, 4]"}},
      {Op::kFlexAttention, {"f32", "f32", "f32", "f32"}, {}, {"error has 4 inputs, expected 3"}},
      {Op::kFlexAttention, {"f32", "f32"}, {}, {"error has 2 inputs, expected at least 3"}},
  });
}

TEST(Families, SignalsAndOthers) {
  expect_cases({
      {Op::kHannWindow, {"i64(10)"}, {}, {"f32[10]"}},
      {Op::kDFT, {"f32[1, 2, 3, 4]", "_", "i64(1)"}, {}, {"error the last dim of input 'a' is 4, expected 1"}},
      {Op::kDFT, {"f32[1, 10, 10, 1]", "_", "i64(1)"}, {{"onesided", int64_t{1}}}, {"f32[1, 6, 10, 2]"}},
      {Op::kDFT, {"f32[1, 6, 10, 2]", "_", "i64(1)"}, {{"onesided", int64_t{1}}, {"inverse", int64_t{1}}}, {"f32[1, 10, 10, 1]"}},
      {Op::kSTFT, {"f32[1, 128, 1]", "i64(8)", "_", "i64(16)"}, {}, {"f32[1, 15, 9, 2]"}},
      {Op::kSTFT, {"f32[1, 128, 1]", "i64(0)", "_", "i64(16)"}, {}, {"error input 'b' is 0"}},
      {Op::kMelWeightMatrix, {"i64(8)", "i64(16)", "i64(8192)", "f32(0)", "f32(4096)"}, {}, {"f32[9, 8]"}},
      {Op::kDet, {"f32[N, 3, 3]"}, {}, {"f32[N]"}},
      {Op::kNegativeLogLikelihoodLoss, {"f32[N, 5, 2]", "i64[N, 2]"}, {{"reduction", std::string("none")}}, {"f32[N, 2]"}},
      {Op::kSoftmaxCrossEntropyLoss, {"f32[3, 5]", "i64[3]"}, {}, {"f32[]", "f32[3, 5]"}},
      {Op::kCol2Im, {"f32[1, 5, 5]", "i64{5, 5}", "i64{1, 5}"}, {}, {"f32[1, 1, 5, 5]"}},
      {Op::kStringSplit, {"string[2]"}, {}, {"string[2, s0]", "i64[2]"}},
      {Op::kSequenceEmpty, {}, {}, {"sequence(f32 of unknown rank)"}},
      {Op::kSplitToSequence, {"f32[6, 2]", "i64(3)"}, {}, {"sequence(f32[3, 2])"}},
      {Op::kRandomNormal, {}, {{"shape", Ints{2, -3}}}, {"error its result would have the shape [2, -3]"}},
      {Op::kRandomNormal, {}, {{"shape", Ints{2}}, {"dtype", int64_t{7}}}, {"error there are no random numbers of dtype i64"}},
      {Op::kRandomUniformLike, {"f16[N, 2]"}, {}, {"f16[N, 2]"}},
      {Op::kRandomUniformLike, {"i64[N]"}, {{"dtype", int64_t{11}}}, {"f64[N]"}},
      {Op::kRandomUniformLike, {"i64[N]"}, {}, {"error there are no random numbers of dtype i64"}},
      {Op::kBernoulli, {"f64[N]"}, {{"dtype", int64_t{9}}}, {"bool[N]"}},
      {Op::kMultinomial, {"f32[N, 5]"}, {{"sample_size", int64_t{3}}}, {"i32[N, 3]"}},
      {Op::kMultinomial, {"f32[N, 5]"}, {{"sample_size", int64_t{0}}}, {"error attribute 'sample_size' is 0"}},
      {Op::kEyeLike, {"i32[3, N]"}, {{"dtype", int64_t{1}}}, {"f32[3, N]"}},
      {Op::kGridSample, {"f32[N, 3, 4, 5]", "f32[N, 6, 7, 2]"}, {}, {"f32[N, 3, 6, 7]"}},
      {Op::kMaxUnpool,
       {"f32[1, 1, 2, 2]", "i64[1, 1, 2, 2]"},
       {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}},
       {"f32[1, 1, 4, 4]"}},
      {Op::kRoiAlign, {"f32[N, 3, 8, 8]", "f32[R, 4]", "i64[R]"}, {{"output_height", int64_t{5}}}, {"f32[R, 3, 5, 1]"}},
      {Op::kBitCast, {"f32[2]"}, {{"to", int64_t{6}}}, {"i32[2]"}},
      {Op::kBitCast, {"f32[2]"}, {{"to", int64_t{7}}}, {"error elements of 32 bits, expected 64"}},
      {Op::kQLinearConv, {"u8[1, 1, 7, 7]", "f32[]", "u8[]", "u8[1, 1, 1, 1]", "f32[1]", "u8[1]", "f32[]", "u8[]"}, {}, {"u8[1, 1, 7, 7]"}},
      {Op::kDynamicQuantizeLinear, {"f32[N]"}, {}, {"u8[N]", "f32[]", "u8[]"}},
  });
}

}  // namespace
}  // namespace sluice
