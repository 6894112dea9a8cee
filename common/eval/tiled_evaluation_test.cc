#include "common/eval/tiled_evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>

#include "common/eval/strided.h"
#include "common/ops/attributes.h"

namespace sluice {
namespace {

struct TiledEvaluationTest : testing::Test {
  Module module;
  std::mt19937 random{7};

  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  TypeId type(DType dtype, std::vector<int64_t> dims) {
    return module.intern(Type::fixed_tensor(dtype, std::move(dims)));
  }

  template <typename T>
  SegmentId numbers(DType dtype, const std::vector<int64_t>& dims) {
    std::vector<T> elements(*element_count(dims));
    for (T& element : elements) element = static_cast<T>(draw(1, 20000));
    const auto bytes = std::as_bytes(std::span(elements));
    return module.make_constant(type(dtype, dims), {bytes.begin(), bytes.end()});
  }

  SegmentId ints(const std::vector<int64_t>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return module.make_constant(type(DType::kI64, {static_cast<int64_t>(values.size())}),
                                {bytes.begin(), bytes.end()});
  }

  Value& append(Graph& graph, Op op, const std::vector<Value*>& inputs, DType dtype,
                std::vector<int64_t> dims) {
    Node& node = graph.add_node(op, inputs);
    node.output().set_type(type(dtype, std::move(dims)));
    return node.output();
  }

  SegmentId finish(Graph& graph, Value& result, std::vector<SegmentId> inputs) {
    graph.add_output(result);
    return module.make_expression(result.type_id(), graph.id(), std::move(inputs));
  }

  // Checks that tiles of several sizes have the bytes of the whole evaluation.
  void check(SegmentId segment) {
    const Result<Tensor> whole = evaluate_segment(module, segment);
    ASSERT_TRUE(whole.ok()) << whole.error().message;
    for (const uint64_t size : {uint64_t{1}, uint64_t{200}, uint64_t{5000}, uint64_t{1} << 30}) {
      const Result<TiledEvaluation> tiles = TiledEvaluation::make(module, segment, size);
      ASSERT_TRUE(tiles.ok()) << tiles.error().message;
      std::vector<std::byte> joined;
      for (size_t i = 0; i < tiles->tiles(); ++i) {
        const Result<TensorBytes> bytes = tiles->evaluate(i);
        ASSERT_TRUE(bytes.ok()) << bytes.error().message;
        joined.insert(joined.end(), bytes->begin(), bytes->end());
      }
      EXPECT_TRUE(
          std::equal(joined.begin(), joined.end(), whole->bytes.begin(), whole->bytes.end()))
          << "tiles of " << size;
    }
  }
};

// The expression casts, transposes and packs for a matrix product with tiles of 16 columns; n is
// not a multiple of 16.
TEST_F(TiledEvaluationTest, PackedWeights) {
  Graph& graph = module.add_graph("packed", GraphRole::kExpression);
  Value& weight = graph.add_input(type(DType::kF16, {75, 230}));
  Value& cast = append(graph, Op::kCast, {&weight}, DType::kF32, {75, 230});
  cast.producer()->set_attribute("to", static_cast<int64_t>(DType::kF32));
  Value& turned = append(graph, Op::kTranspose, {&cast}, DType::kF32, {230, 75});
  turned.producer()->set(attributes::Transpose::perm, std::vector<int64_t>{1, 0});
  Value& padded = append(graph, Op::kPad, {&turned, &graph.add_constant(ints({0, 0, 0, 5}))},
                         DType::kF32, {230, 80});
  Value& split = append(graph, Op::kReshape, {&padded, &graph.add_constant(ints({230, 5, 16}))},
                        DType::kF32, {230, 5, 16});
  Value& packed = append(graph, Op::kTranspose, {&split}, DType::kF32, {5, 230, 16});
  packed.producer()->set(attributes::Transpose::perm, std::vector<int64_t>{1, 0, 2});
  const SegmentId segment = finish(graph, packed, {numbers<uint16_t>(DType::kF16, {75, 230})});
  check(segment);
  EXPECT_EQ(TiledEvaluation::make(module, segment, 230 * 16 * 4)->tiles(), 5u);
}

// W * (gamma / sqrt(variance)) is the expression of a folded normalization: the factor is small and
// evaluated once.
TEST_F(TiledEvaluationTest, ScalesAndSplatsAreBroadcast) {
  Graph& graph = module.add_graph("scaled", GraphRole::kExpression);
  Value& weight = graph.add_input(type(DType::kF32, {64, 40, 3, 3}));
  Value& gamma = graph.add_input(type(DType::kF32, {64}));
  const float two = 2;
  Value& splat = graph.add_constant(
      module.make_splat(type(DType::kF32, {64}), std::as_bytes(std::span(&two, 1))));
  Value& root = append(graph, Op::kSqrt, {&splat}, DType::kF32, {64});
  Value& factor = append(graph, Op::kDiv, {&gamma, &root}, DType::kF32, {64});
  Value& shaped = append(graph, Op::kReshape, {&factor, &graph.add_constant(ints({64, 1, 1, 1}))},
                         DType::kF32, {64, 1, 1, 1});
  Value& scaled = append(graph, Op::kMul, {&weight, &shaped}, DType::kF32, {64, 40, 3, 3});
  Value& twice = append(graph, Op::kAdd, {&scaled, &scaled}, DType::kF32, {64, 40, 3, 3});
  check(finish(graph, twice,
               {numbers<float>(DType::kF32, {64, 40, 3, 3}), numbers<float>(DType::kF32, {64})}));
}

TEST_F(TiledEvaluationTest, OtherOpsAreEvaluatedWhole) {
  Graph& graph = module.add_graph("softmax", GraphRole::kExpression);
  Value& weight = graph.add_input(type(DType::kF32, {200, 300}));
  Value& soft = append(graph, Op::kSoftmax, {&weight}, DType::kF32, {200, 300});
  Value& turned = append(graph, Op::kTranspose, {&soft}, DType::kF32, {300, 200});
  check(finish(graph, turned, {numbers<float>(DType::kF32, {200, 300})}));
}

TEST_F(TiledEvaluationTest, ExpressionsOverExpressionsOfAnyDepth) {
  SegmentId segment = numbers<float>(DType::kF32, {100, 200});
  for (int level = 0; level < 300; ++level) {
    Graph& graph = module.add_graph("level" + std::to_string(level), GraphRole::kExpression);
    const std::vector<int64_t> dims =
        level % 2 == 0 ? std::vector<int64_t>{200, 100} : std::vector<int64_t>{100, 200};
    Value& input = graph.add_input(module.segment(segment).type);
    Value& turned = append(graph, Op::kTranspose, {&input}, DType::kF32, dims);
    segment = finish(graph, append(graph, Op::kNeg, {&turned}, DType::kF32, dims), {segment});
  }
  check(segment);
}

TEST_F(TiledEvaluationTest, ScalarsEmptyTensorsAndPackedElements) {
  check(numbers<float>(DType::kF32, {}));
  check(numbers<float>(DType::kF32, {3, 0}));
  check(module.make_constant(type(DType::kI4, {5}), std::vector<std::byte>(3, std::byte{0x21})));
}

// The test reshapes random boxes between random factorizations of the same extents.
TEST_F(TiledEvaluationTest, ReshapedBoxesCoverTheirElements) {
  for (int turn = 0; turn < 2000; ++turn) {
    std::vector<int64_t> factors(static_cast<size_t>(draw(1, 5)));
    for (int64_t& factor : factors) factor = draw(1, 4);
    const auto joined = [&] {
      std::vector<int64_t> dims;
      for (const int64_t factor : factors) {
        if (!dims.empty() && draw(0, 1) == 0) {
          dims.back() *= factor;
        } else {
          dims.push_back(factor);
        }
      }
      if (draw(0, 3) == 0)
        dims.insert(dims.begin() + draw(0, static_cast<int64_t>(dims.size())), 1);
      return dims;
    };
    const std::vector<int64_t> to = joined(), from = joined();
    eval::Box box = eval::Box::whole(to);
    for (size_t i = 0; i < to.size(); ++i) {
      box.begin[i] = draw(0, to[i] - 1);
      box.extent[i] = draw(1, to[i] - box.begin[i]);
    }
    const eval::ReshapedBox reshaped = eval::reshape_box(box, to, from);
    std::vector<int32_t> elements(*element_count(to));
    std::iota(elements.begin(), elements.end(), 0);
    const auto part = [&](const std::vector<int64_t>& dims, const eval::Box& of) {
      int64_t offset = 0;
      const std::vector<int64_t> strides = eval::dense_strides(dims);
      for (size_t i = 0; i < dims.size(); ++i) offset += of.begin[i] * strides[i];
      std::vector<int32_t> result(*element_count(of.extent));
      eval::copy_strided(
          {reinterpret_cast<const std::byte*>(elements.data() + offset), of.extent, strides}, 4,
          reinterpret_cast<std::byte*>(result.data()));
      return result;
    };
    const std::vector<int32_t> source = part(from, reshaped.source);
    std::vector<int32_t> found(*element_count(box.extent));
    eval::copy_strided({reinterpret_cast<const std::byte*>(source.data() + reshaped.offset),
                        box.extent, reshaped.strides},
                       4, reinterpret_cast<std::byte*>(found.data()));
    ASSERT_EQ(found, part(to, box)) << "turn " << turn;
  }
}

// Weights are at arbitrary offsets in the user's file. (The sanitizers detect a wrong read.)
TEST_F(TiledEvaluationTest, ConstantsAtOddAddresses) {
  const SegmentId weights = numbers<float>(DType::kF32, {24, 50});
  const auto aligned = module.bytes(weights);
  ASSERT_TRUE(aligned.ok());
  auto odd = std::make_shared<std::vector<std::byte>>(aligned->size() + 1);
  std::copy(aligned->begin(), aligned->end(), odd->begin() + 1);
  Location& location = module.segment(weights).location;
  location.bytes = std::span<const std::byte>(*odd).subspan(1);
  location.owner = odd;
  Graph& body = module.add_graph("e", GraphRole::kExpression);
  Value& x = body.add_input(type(DType::kF32, {24, 50}));
  Value& turned = append(body, Op::kTranspose, {&x}, DType::kF32, {50, 24});
  turned.producer()->set(attributes::Transpose::perm, std::vector<int64_t>{1, 0});
  body.add_output(append(body, Op::kNeg,
                         {&append(body, Op::kAdd, {&turned, &turned}, DType::kF32, {50, 24})},
                         DType::kF32, {50, 24}));
  const SegmentId expression =
      module.make_expression(type(DType::kF32, {50, 24}), body.id(), {weights});
  check(expression);
}

}  // namespace
}  // namespace sluice
