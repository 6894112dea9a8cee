#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "common/eval/testing/node_test.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(BinaryTest, Broadcasts) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(NodeRun(Op::kAdd, {x, f32({3}, {10, 20, 30})}).get<float>(),
              ElementsAre(11, 22, 33, 14, 25, 36));
  EXPECT_THAT(NodeRun(Op::kMul, {f32({2, 1}, {2, 3}), x}).get<float>(),
              ElementsAre(2, 4, 6, 12, 15, 18));
  EXPECT_THAT(NodeRun(Op::kSub, {f32({}, {1}), x}).get<float>(),
              ElementsAre(0, -1, -2, -3, -4, -5));
  EXPECT_EQ(NodeRun(Op::kAdd, {x, f32({2}, {1, 2})}).error().code, ErrorCode::kBadShape);
  EXPECT_EQ(NodeRun(Op::kAdd, {f32({2, 1}, {1, 2}), f32({1, 3}, {1, 2, 3})}).dims(), (Ints{2, 3}));
}

TEST(BinaryTest, IntegersTruncateAndWrap) {
  EXPECT_THAT(NodeRun(Op::kDiv, {i32({3}, {-7, 7, std::numeric_limits<int32_t>::min()}),
                                 i32({3}, {2, -2, -1})})
                  .get<int32_t>(),
              ElementsAre(-3, -3, std::numeric_limits<int32_t>::min()));
  EXPECT_EQ(NodeRun(Op::kDiv, {i32({1}, {1}), i32({1}, {0})}).error().code, ErrorCode::kBadValue);
  EXPECT_THAT(NodeRun(Op::kMod, {i32({2}, {-7, 7}), i32({2}, {3, -3})}).get<int32_t>(),
              ElementsAre(2, -2));
  EXPECT_THAT(NodeRun(Op::kMod, {i32({2}, {-7, 7}), i32({2}, {3, -3})}, {{"fmod", int64_t{1}}})
                  .get<int32_t>(),
              ElementsAre(-1, 1));
}

TEST(BinaryTest, MaxAndReluKeepNaN) {
  const auto y = NodeRun(Op::kMax, {f32({3}, {kNaN, 1, 2}), f32({3}, {1, kNaN, 1})}).get<float>();
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_EQ(y[2], 2);
  EXPECT_TRUE(std::isnan(NodeRun(Op::kRelu, {f32({1}, {kNaN})}).get<float>()[0]));
}

TEST(BinaryTest, PowOfMixedTypes) {
  EXPECT_THAT(NodeRun(Op::kPow, {i32({3}, {2, 3, -2}), f32({}, {3})}).get<int32_t>(),
              ElementsAre(8, 27, -8));
  EXPECT_THAT(NodeRun(Op::kPow, {f32({2}, {2, 9}), i64({2}, {-1, 2})}).get<float>(),
              ElementsAre(0.5f, 81));
}

TEST(BinaryTest, HalvesAreComputedInFloats) {
  const Tensor x = tensor_of<uint16_t>(DType::kF16, {2}, {0x3c00, 0x4000});  // 1, 2
  const NodeRun run(Op::kAdd, {x, x});
  EXPECT_EQ(run.tensor().dtype, DType::kF16);
  EXPECT_THAT(run.get<uint16_t>(), ElementsAre(0x4000, 0x4400));
}

TEST(BinaryTest, StringsAreComparedByText) {
  EXPECT_THAT(NodeRun(Op::kEqual, {texts({2}, {"a", "b"}), texts({2}, {"b", "b"})}).get<uint8_t>(),
              ElementsAre(0, 1));
}

TEST(BinaryTest, Where) {
  EXPECT_THAT(
      NodeRun(Op::kWhere, {bools({2, 1}, {1, 0}), i64({2}, {1, 2}), i64({}, {9})}).get<int64_t>(),
      ElementsAre(1, 2, 9, 9));
}

TEST(UnaryTest, Values) {
  EXPECT_THAT(NodeRun(Op::kRound, {f32({4}, {0.5f, 1.5f, -2.5f, 2.4f})}).get<float>(),
              ElementsAre(0, 2, -2, 2));
  EXPECT_THAT(NodeRun(Op::kSigmoid, {f32({2}, {0, 100})}).get<float>(), ElementsAre(0.5f, 1));
  EXPECT_THAT(
      NodeRun(Op::kClip, {f32({3}, {-3, 0.5f, 9}), f32({}, {-1}), f32({}, {2})}).get<float>(),
      ElementsAre(-1, 0.5f, 2));
  EXPECT_THAT(NodeRun(Op::kErf, {f64({1}, {0.5})}).get<double>(),
              ElementsAre(testing::DoubleNear(0.5204998778130465, 1e-16)));
}

TEST(MatMulTest, VectorsAndBatches) {
  const Tensor a = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(NodeRun(Op::kMatMul, {a, f32({3, 2}, {1, 0, 0, 1, 1, 1})}).get<float>(),
              ElementsAre(4, 5, 10, 11));
  const NodeRun vector(Op::kMatMul, {f32({3}, {1, 1, 1}), f32({3}, {1, 2, 3})});
  EXPECT_EQ(vector.dims(), Ints{});
  EXPECT_THAT(vector.get<float>(), ElementsAre(6));
  const NodeRun batch(Op::kMatMul, {f32({2, 1, 2}, {1, 2, 3, 4}), f32({2, 1}, {1, 10})});
  EXPECT_EQ(batch.dims(), (Ints{2, 1, 1}));
  EXPECT_THAT(batch.get<float>(), ElementsAre(21, 43));
  EXPECT_EQ(NodeRun(Op::kMatMul, {a, a}).error().code, ErrorCode::kBadShape);
}

TEST(MatMulTest, Gemm) {
  const NodeRun run(
      Op::kGemm, {f32({2, 1}, {1, 2}), f32({3, 2}, {1, 2, 3, 4, 5, 6}), f32({3}, {1, 1, 1})},
      {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", 2.0f}, {"beta", 0.5f}});
  EXPECT_THAT(run.get<float>(), ElementsAre(10.5f, 22.5f, 34.5f));
}

TEST(ConvTest, PadsStridesAndGroups) {
  const Tensor x = f32({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor ones = f32({1, 1, 3, 3}, std::vector<float>(9, 1));
  EXPECT_THAT(NodeRun(Op::kConv, {x, ones, f32({1}, {0.5f})},
                      {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}})
                  .get<float>(),
              ElementsAre(12.5f, 16.5f, 24.5f, 28.5f));
  const NodeRun groups(Op::kConv, {f32({1, 2, 2}, {1, 2, 3, 4}), f32({2, 1, 1}, {10, 100})},
                       {{"group", int64_t{2}}});
  EXPECT_THAT(groups.get<float>(), ElementsAre(10, 20, 300, 400));
  EXPECT_EQ(NodeRun(Op::kConv, {x, f32({1, 2, 1, 1}, {1, 1})}).error().code, ErrorCode::kBadShape);
}

TEST(ConvTest, WindowsLargerThanThePaddedImageAreRefused) {
  const Tensor w = f32({1, 1, 5}, std::vector<float>(5, 1));
  const NodeRun run(Op::kConv, {f32({1, 1, 2}, {1, 2}), w},
                    {{"pads", Ints{1, 1}}, {"strides", Ints{2}}});
  EXPECT_EQ(run.error().code, ErrorCode::kBadShape);
  EXPECT_EQ(run.error().message,
            "node 'n' (Conv): a window of 5 does not fit into 2 with pads 1 and 1");
  const NodeRun empty(Op::kConv, {f32({1, 1, 0}, {}), w},
                      {{"auto_pad", std::string("SAME_UPPER")}});
  EXPECT_EQ(empty.dims(), (Ints{1, 1, 0}));
}

TEST(SplitTest, TheLastPieceMayBeEmptyButNotLess) {
  const NodeRun run(Op::kSplit, {f32({2}, {1, 2})}, {{"num_outputs", int64_t{3}}}, 3);
  EXPECT_THAT(run.get<float>(1), ElementsAre(2));
  EXPECT_THAT(run.get<float>(2), ElementsAre());
  const NodeRun bad(Op::kSplit, {f32({5}, {1, 2, 3, 4, 5})}, {{"num_outputs", int64_t{4}}}, 4);
  EXPECT_EQ(bad.error().message,
            "node 'n' (Split): 5 elements cannot be split into 4 pieces of equal size, but for a "
            "smaller last one");
}

TEST(DamagedGraphTest, ANodeMayHaveNoInputAndNoType) {
  EXPECT_EQ(NodeRun(Op::kIdentity, {}).error().code, ErrorCode::kBadValue);
}

// A sanitizer build detects sizes beyond int64 that are not prevented from wrapping.
TEST(ShapeTest, SizesBeyondInt64AreNoShape) {
  const Tensor x = f32({2}, {1, 2});
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{2, int64_t{1} << 62}, {INT64_MAX, -1}, {INT64_MAX, INT64_MAX, -1}}) {
    const auto count = static_cast<int64_t>(dims.size());
    EXPECT_EQ(NodeRun(Op::kReshape, {x, i64({count}, dims)}).error().code, ErrorCode::kBadShape);
    const auto text = static_cast<int64_t>(DType::kString);
    EXPECT_EQ(NodeRun(Op::kCast, {}, {{"to", text}}).error().code, ErrorCode::kBadValue);
  }
  EXPECT_EQ(NodeRun(Op::kSplit, {x, i64({2}, {2, INT64_MAX})}, {}, 2).error().code,
            ErrorCode::kBadShape);
  const NodeRun none(Op::kCast, {f32({1}, {1})}, {{"to", int64_t{119}}});
  EXPECT_THAT(none.error().message, testing::HasSubstr("undefined"));
}

TEST(PoolTest, MaxWithIndicesAndCeil) {
  const NodeRun run(
      Op::kMaxPool, {f32({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})},
      {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}}, 2);
  EXPECT_THAT(run.get<float>(), ElementsAre(5, 6, 8, 9));
  EXPECT_THAT(run.get<int64_t>(1), ElementsAre(4, 5, 7, 8));
}

// Windows that are almost entirely padding cost no more than the elements they read: the second is
// 2^40 wide and moves by 2^41.
TEST(PoolTest, HugeWindowsReadTheInputAlone) {
  const int64_t wide = int64_t{1} << 40;
  const Tensor x = f32({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const Attribute kernel{"kernel_shape", std::vector<int64_t>{wide, wide}};
  const Attribute strides{"strides", std::vector<int64_t>{2 * wide, 2 * wide}};
  const Attribute pads{"pads", std::vector<int64_t>(4, wide - 4)};
  EXPECT_THAT(NodeRun(Op::kMaxPool, {x}, {kernel, strides, pads}).get<float>(), ElementsAre(6));
  EXPECT_THAT(NodeRun(Op::kAveragePool, {x}, {kernel, strides, pads}).get<float>(),
              ElementsAre(3.5F));
  const Attribute line{"kernel_shape", std::vector<int64_t>{1, wide + 2}};
  const Attribute far{"strides", std::vector<int64_t>{1, wide}};
  const Attribute around{"pads", std::vector<int64_t>{0, wide, 0, wide}};
  EXPECT_THAT(NodeRun(Op::kMaxPool, {x}, {line, far, around}).get<float>(),
              ElementsAre(2, 3, 5, 6));
}

TEST(PoolTest, HugeAttributesAreRefused) {
  const Attribute kernel{"kernel_shape", std::vector<int64_t>{2, (int64_t{1} << 49) + 2}};
  EXPECT_FALSE(NodeRun(Op::kMaxPool, {f32({1, 1, 1, 1}, {1})}, {kernel}).ok());
}

TEST(PoolTest, AverageCountsPadding) {
  const Tensor x = f32({1, 1, 2}, {2, 4});
  const Attribute kernel{"kernel_shape", Ints{2}}, pads{"pads", Ints{1, 1}};
  EXPECT_THAT(NodeRun(Op::kAveragePool, {x}, {kernel, pads}).get<float>(), ElementsAre(2, 3, 4));
  EXPECT_THAT(NodeRun(Op::kAveragePool, {x}, {kernel, pads, {"count_include_pad", int64_t{1}}})
                  .get<float>(),
              ElementsAre(1, 3, 2));
}

TEST(NormalizeTest, SoftmaxAndLayerNormalization) {
  EXPECT_THAT(NodeRun(Op::kSoftmax, {f32({2, 2}, {0, std::log(3.0f), 5, 5})}).get<float>(),
              Pointwise(FloatNear(1e-6f), std::vector<float>{0.25f, 0.75f, 0.5f, 0.5f}));
  const NodeRun run(Op::kLayerNormalization,
                    {f32({2, 2}, {1, 3, 0, 4}), f32({2}, {1, 2}), f32({2}, {0, 1})},
                    {{"epsilon", 0.0f}}, 3);
  EXPECT_THAT(run.get<float>(), ElementsAre(-1, 3, -1, 3));
  EXPECT_THAT(run.get<float>(1), ElementsAre(2, 2));
  EXPECT_THAT(run.get<float>(2), ElementsAre(1, 0.5f));
}

TEST(NormalizeTest, BatchNormalization) {
  const NodeRun run(Op::kBatchNormalization,
                    {f32({1, 2, 2}, {1, 2, 3, 4}), f32({2}, {1, 2}), f32({2}, {0, 1}),
                     f32({2}, {1, 3}), f32({2}, {4, 1})},
                    {{"epsilon", 0.0f}});
  EXPECT_THAT(run.get<float>(), ElementsAre(0, 0.5f, 1, 3));
}

TEST(MovementTest, TransposeSliceConcat) {
  const Tensor x = i64({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(NodeRun(Op::kTranspose, {x}).get<int64_t>(), ElementsAre(1, 4, 2, 5, 3, 6));
  const NodeRun slice(
      Op::kSlice, {x, i64({2}, {-1, 1}), i64({2}, {-100, 3}), i64({2}, {0, 1}), i64({2}, {-1, 1})});
  EXPECT_EQ(slice.dims(), (Ints{2, 2}));
  EXPECT_THAT(slice.get<int64_t>(), ElementsAre(5, 6, 2, 3));
  // With a negative step, a start before the first element is clamped to it.
  const NodeRun first(Op::kSlice, {i64({3}, {7, 8, 9}), i64({1}, {-9}), i64({1}, {INT64_MIN}),
                                   i64({1}, {0}), i64({1}, {-2})});
  EXPECT_THAT(first.get<int64_t>(), ElementsAre(7));
  const NodeRun joined(Op::kConcat, {x, i64({2, 1}, {7, 8})}, {{"axis", int64_t{1}}});
  EXPECT_THAT(joined.get<int64_t>(), ElementsAre(1, 2, 3, 7, 4, 5, 6, 8));
  EXPECT_THAT(NodeRun(Op::kTile, {i64({2}, {1, 2}), i64({1}, {2})}).get<int64_t>(),
              ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(
      NodeRun(Op::kPad, {i64({3}, {1, 2, 3}), i64({2}, {2, 1})}, {{"mode", std::string("reflect")}})
          .get<int64_t>(),
      ElementsAre(3, 2, 1, 2, 3, 2));
}

TEST(MovementTest, StringsAndPackedElementsMove) {
  const NodeRun run(Op::kConcat, {texts({1}, {"b"}), texts({2}, {"a", ""})},
                    {{"axis", int64_t{0}}});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(string_at(run.tensor(), 0), "b");
  EXPECT_EQ(string_at(run.tensor(), 1), "a");
  Tensor packed = make_tensor(DType::kI4, {1, 3});
  packed.bytes[0] = std::byte{0x7f};  // -1, 7
  packed.bytes[1] = std::byte{0x08};  // -8
  const NodeRun turned(Op::kConcat, {packed, packed}, {{"axis", int64_t{1}}});
  EXPECT_EQ(turned.tensor().dtype, DType::kI4);
  EXPECT_THAT(turned.get<uint8_t>(), ElementsAre(0x7f, 0xf8, 0x87));
}

TEST(ShapeTest, Reshape) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(NodeRun(Op::kReshape, {x, i64({3}, {0, -1, 1})}).dims(), (Ints{2, 3, 1}));
  EXPECT_EQ(NodeRun(Op::kReshape, {x, i64({1}, {5})}).error().code, ErrorCode::kBadShape);
  const Tensor empty = f32({0, 6}, {});  // an empty batch: 6 = 3 x 2
  EXPECT_EQ(NodeRun(Op::kReshape, {empty, i64({3}, {0, 3, -1})}).dims(), (Ints{0, 3, 2}));
  EXPECT_EQ(NodeRun(Op::kReshape, {empty, i64({2}, {-1, 4})}).dims(), (Ints{0, 4}));
  EXPECT_EQ(NodeRun(Op::kReshape,
                    {
                        empty,
                        i64({2}, {0, -1}),
                    },
                    {{"allowzero", int64_t{1}}})
                .error()
                .code,
            ErrorCode::kBadShape);
  EXPECT_EQ(NodeRun(Op::kUnsqueeze, {x, i64({2}, {0, -1})}).dims(), (Ints{1, 2, 3, 1}));
  EXPECT_THAT(NodeRun(Op::kRange, {i64({}, {5}), i64({}, {0}), i64({}, {-2})}).get<int64_t>(),
              ElementsAre(5, 3, 1));
}

TEST(GatherTest, IndicesFromTheEndAndOutside) {
  const Tensor x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(NodeRun(Op::kGather, {x, i64({2}, {-1, 0})}).get<float>(), ElementsAre(5, 6, 1, 2));
  EXPECT_EQ(NodeRun(Op::kGather, {x, i64({1}, {3})}).error().code, ErrorCode::kBadValue);
  EXPECT_THAT(NodeRun(Op::kGatherND, {x, i64({2, 2}, {0, 1, 2, 0})}).get<float>(),
              ElementsAre(2, 5));
  EXPECT_THAT(NodeRun(Op::kScatterElements,
                      {f32({1, 3}, {1, 2, 3}), i64({1, 2}, {1, 1}), f32({1, 2}, {5, 7})},
                      {{"axis", int64_t{1}}, {"reduction", std::string("add")}})
                  .get<float>(),
              ElementsAre(1, 14, 3));
  EXPECT_THAT(NodeRun(Op::kNonZero, {i32({2, 2}, {0, 1, 2, 0})}).get<int64_t>(),
              ElementsAre(0, 1, 1, 0));
}

}  // namespace
}  // namespace sluice
