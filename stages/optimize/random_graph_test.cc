// Random networks compute the same before and after the whole stage.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "common/eval/eval.h"
#include "common/ops/attributes.h"
#include "stages/optimize/optimize.h"

namespace sluice {
namespace {

// A network of values of one shape, 1 x 4 x 5 x 5, joined at random by the nodes that networks are
// made of.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint32_t seed) : random_(seed), graph_(module_.add_graph("main")) {
    for (const char* name : {"x", "z"})
      values_.push_back(&graph_.add_input(tensor_type({1, 4, 5, 5}), name));
    for (int i = 0; i < 40; ++i) grow();
    for (int i = 0; i < 3; ++i) {
      Value& output = node(Op::kTanh, {values_[values_.size() - 1 - static_cast<size_t>(i)]});
      output.set_name(fmt::format("y{}", i));
      graph_.add_output(output);
    }
  }

  Module take() { return std::move(module_); }

 private:
  int64_t pick(int64_t count) {
    return std::uniform_int_distribution<int64_t>(0, count - 1)(random_);
  }
  // Returns recent values more often: networks are deep.
  Value* any() {
    return values_[values_.size() - 1 -
                   static_cast<size_t>(
                       pick(std::min<int64_t>(6, static_cast<int64_t>(values_.size()))))];
  }
  TypeId tensor_type(const std::vector<int64_t>& extents) {
    return module_.intern(Type::fixed_tensor(DType::kF32, extents));
  }

  Value& weight(const std::vector<int64_t>& extents, float low, float high) {
    const TypeId type = tensor_type(extents);
    std::vector<float> elements(static_cast<size_t>(*module_.type(type).element_count()));
    for (float& element : elements)
      element = std::uniform_real_distribution<float>(low, high)(random_);
    std::vector<std::byte> bytes(elements.size() * sizeof(float));
    std::memcpy(bytes.data(), elements.data(), bytes.size());
    return graph_.add_constant(module_.make_constant(type, std::move(bytes)));
  }

  Value& number(float value) { return weight({}, value, value); }

  Value& ints(const std::vector<int64_t>& numbers) {
    std::vector<std::byte> bytes(numbers.size() * sizeof(int64_t));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    const TypeId type =
        module_.intern(Type::fixed_tensor(DType::kI64, {static_cast<int64_t>(numbers.size())}));
    return graph_.add_constant(module_.make_constant(type, std::move(bytes)));
  }

  Value& node(Op op, const std::vector<Value*>& inputs,
              const std::vector<int64_t>& extents = {1, 4, 5, 5}) {
    Value& result = graph_.add_node(op, inputs).output();
    result.set_type(tensor_type(extents));
    return result;
  }

  Value& convolution(Value& x, int64_t kernel, int64_t pad) {
    std::vector<Value*> inputs = {&x, &weight({4, 4, kernel, kernel}, -0.4f, 0.4f)};
    if (pick(2) == 0) inputs.push_back(&weight({4}, -1, 1));
    Value& result = node(Op::kConv, inputs);
    result.producer()->set(attributes::Strided::pads, std::vector<int64_t>(4, pad));
    return result;
  }

  Value& batch_norm(Value& x) {
    return node(Op::kBatchNormalization, {&x, &weight({4}, 0.5f, 1.5f), &weight({4}, -1, 1),
                                          &weight({4}, -1, 1), &weight({4}, 0.5f, 2)});
  }

  Value& padded_convolution(Value& x) {
    Value& padded = node(Op::kPad, {&x, &ints({0, 0, 1, 1, 0, 0, 1, 1})}, {1, 4, 7, 7});
    return convolution(padded, 3, 0);
  }

  Value& matrix_product(Value& x) {
    return node(Op::kAdd,
                {&weight({5}, -1, 1), &node(Op::kMatMul, {&x, &weight({5, 5}, -0.4f, 0.4f)})});
  }

  Value& there_and_back(Value& x) {
    if (pick(2) == 0)
      return node(Op::kReshape,
                  {&node(Op::kReshape, {&x, &ints({10, 10})}, {10, 10}), &ints({1, 4, 5, 5})});
    Value& turned = node(Op::kTranspose, {&x}, {1, 5, 5, 4});
    turned.producer()->set(attributes::Transpose::perm, std::vector<int64_t>{0, 2, 3, 1});
    Value& back = node(Op::kTranspose, {&turned});
    back.producer()->set(attributes::Transpose::perm, std::vector<int64_t>{0, 3, 1, 2});
    return back;
  }

  Value& gelu(Value& x) {
    Value& erf = node(Op::kErf, {&node(Op::kDiv, {&x, &number(1.41421356f)})});
    return node(Op::kMul,
                {&node(Op::kMul, {&x, &node(Op::kAdd, {&erf, &number(1)})}), &number(0.5f)});
  }

  Value& row(Op op, Value& x) { return node(op, {&x, &ints({3})}, {1, 4, 5, 1}); }

  Value& softmax(Value& x) {
    Value& power = node(Op::kExp, {&node(Op::kSub, {&x, &row(Op::kReduceMax, x)})});
    return node(Op::kDiv, {&power, &row(Op::kReduceSum, power)});
  }

  Value& layer_norm(Value& x) {
    Value& centred = node(Op::kSub, {&x, &row(Op::kReduceMean, x)});
    Value& square = node(Op::kMul, {&centred, &centred});
    Value& variance = node(Op::kAdd, {&row(Op::kReduceMean, square), &number(1e-2f)}, {1, 4, 5, 1});
    Value& unit = node(Op::kDiv, {&centred, &node(Op::kSqrt, {&variance}, {1, 4, 5, 1})});
    return node(Op::kAdd,
                {&node(Op::kMul, {&unit, &weight({5}, 0.5f, 1.5f)}), &weight({5}, -1, 1)});
  }

  void grow() {
    Value& x = *any();
    switch (pick(16)) {
      case 0:
        return keep(convolution(x, 1, 0));
      case 1:
        return keep(batch_norm(convolution(x, 3, 1)));
      case 2:
        return keep(batch_norm(x));
      case 3:
        return keep(padded_convolution(x));
      case 4:
        return keep(matrix_product(x));
      case 5:
        return keep(node(Op::kRelu, {&x}));
      case 6:
        return keep(node(Op::kClip, {&x, &number(-1), &number(2)}));
      case 7:
        return keep(node(Op::kAdd, {&x, any()}));
      case 8:
        return keep(node(Op::kMul, {&x, &node(Op::kSigmoid, {&x})}));
      case 9:
        return keep(gelu(x));
      case 10:
        return keep(there_and_back(x));
      case 11:
        return keep(node(Op::kIdentity, {&x}));
      case 12:
        return keep(node(Op::kMul, {&x, &number(1)}));
      case 13:
        return keep(softmax(x));
      case 14:
        return keep(layer_norm(x));
      default:
        return keep(node(Op::kSub, {&x, &weight({4, 1, 1}, -1, 1)}));
    }
  }

  void keep(Value& value) { values_.push_back(&value); }

  std::mt19937 random_;
  Module module_;
  Graph& graph_;
  std::vector<Value*> values_;
};

std::vector<EvalValue> random_inputs(uint32_t seed) {
  std::mt19937 random(seed + 1000);
  std::normal_distribution<float> normal;
  std::vector<EvalValue> inputs;
  for (int i = 0; i < 2; ++i) {
    Tensor tensor = make_tensor(DType::kF32, {1, 4, 5, 5});
    for (float& element : tensor.as<float>()) element = normal(random);
    inputs.push_back(EvalValue::of(std::move(tensor)));
  }
  return inputs;
}

size_t count(const Graph& graph, Op op) {
  size_t found = 0;
  for (const Node& node : graph.nodes()) found += node.op() == op ? 1 : 0;
  return found;
}

class RandomGraph : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomGraph, MeansTheSameAfterwards) {
  const Module before = RandomNetwork(GetParam()).take();
  Options options;
  ASSERT_TRUE(options.set("verify", "each").ok());
  std::vector<PassReport> report;
  auto after = optimize(RandomNetwork(GetParam()).take(), options, report);
  ASSERT_TRUE(after.ok()) << error_text(after.error());
  EXPECT_LT(after->root().node_count(), before.root().node_count());
  EXPECT_EQ(count(after->root(), Op::kBatchNormalization), 0u);
  EXPECT_GT(count(after->root(), Op::kFused), 0u);
  const auto wanted = evaluate_graph(before.root(), random_inputs(GetParam())),
             got = evaluate_graph(after->root(), random_inputs(GetParam()));
  ASSERT_TRUE(wanted.ok() && got.ok()) << error_text(wanted.ok() ? got.error() : wanted.error());
  for (size_t i = 0; i < wanted->size(); ++i) {
    const std::span<const float> a = wanted->at(i).tensor->as<float>(),
                                 b = got->at(i).tensor->as<float>();
    ASSERT_EQ(a.size(), b.size());
    for (size_t k = 0; k < a.size(); ++k)
      ASSERT_NEAR(a[k], b[k], 1e-4) << "output " << i << ", element " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraph, testing::Range(0u, 60u));

}  // namespace
}  // namespace sluice
