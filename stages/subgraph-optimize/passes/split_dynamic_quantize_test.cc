#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "common/eval/eval.h"
#include "common/text/text.h"
#include "stages/subgraph-optimize/passes/passes.h"

namespace sluice {
namespace {

using Dims = std::vector<int64_t>;

Module parsed(const std::string& type, const std::string& symbols) {
  auto module = parse_module("sluice 1 typed\n" + symbols + "graph @main(%x: f32" + type +
                                 ") -> (%y, %s, %z) {\n  %y: u8" + type +
                                 ", %s: f32[], %z: u8[] = DynamicQuantizeLinear(%x)\n}\n",
                             "test");
  EXPECT_TRUE(module.ok()) << module.error().message;
  return std::move(module).value();
}

std::vector<Op> ops_of(const Graph& graph) {
  std::vector<Op> ops;
  for (const Node& node : graph.nodes()) ops.push_back(node.op());
  return ops;
}

const std::vector<Op> kOne = {Op::kDynamicQuantizeLinear};
const std::vector<Op> kThree = {Op::kFused, Op::kFused, Op::kFused};

// A dynamic quantization of x, which is split if it can be. symbols: lines that declare them.
Module split(const std::string& type, const std::string& symbols = {}) {
  Module module = parsed(type, symbols);
  module.root().engine = intern_engine("vector");
  const auto changed = split_dynamic_quantize(module.root(), Options());
  EXPECT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_EQ(*changed, ops_of(module.root()) != kOne);
  return module;
}

std::vector<Op> ops_after(const std::string& type, const std::string& symbols = {}) {
  return ops_of(split(type, symbols).root());
}

using Numbers = std::function<float(int64_t)>;

std::vector<TensorBytes> results_of(const Module& module, const Dims& dims, const Numbers& at) {
  Tensor x = make_tensor(DType::kF32, dims);
  for (size_t i = 0; i < x.bytes.size() / sizeof(float); ++i) {
    const float value = at(static_cast<int64_t>(i));
    std::memcpy(x.bytes.data() + i * sizeof(float), &value, sizeof(float));
  }
  auto results = evaluate_graph(module.root(), {EvalValue::of(std::move(x))});
  EXPECT_TRUE(results.ok()) << results.error().message;
  std::vector<TensorBytes> bytes;
  for (const EvalValue& result : *results) bytes.push_back(result.tensor->bytes);
  return bytes;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();

float mixed(int64_t i) { return static_cast<float>((i * 7919) % 10007) / 100 - 37.0f; }

const std::vector<std::pair<const char*, Numbers>> kNumbers = {
    {"mixed", mixed},
    {"positive", [](int64_t i) { return mixed(i) + 40; }},
    {"negative", [](int64_t i) { return mixed(i) - 80; }},
    {"zeros", [](int64_t) { return 0.0f; }},
    {"equal", [](int64_t) { return 2.5f; }},
    {"equal and negative", [](int64_t) { return -2.5f; }},
    {"some NaN", [](int64_t i) { return i % 1000 == 5 ? std::nanf("") : mixed(i); }},
    {"NaN", [](int64_t) { return std::nanf(""); }},
    {"NaN in a part", [](int64_t i) { return i < 9000 ? std::nanf("") : mixed(i); }},
    {"infinity", [](int64_t i) { return i == 70000 ? kInfinity : mixed(i); }},
    {"-infinity", [](int64_t i) { return i == 70000 ? -kInfinity : mixed(i); }},
    {"infinities", [](int64_t i) { return i % 5 == 0 ? kInfinity * mixed(i) : mixed(i); }},
    {"huge", [](int64_t i) { return mixed(i) * 5e36f; }},
    {"tiny", [](int64_t i) { return static_cast<float>(i % 90) * kTiny; }},
    {"tiny and negative", [](int64_t i) { return static_cast<float>(i % 90 - 60) * kTiny; }},
    {"tiny and none", [](int64_t i) { return i % 9 == 0 ? std::nanf("") : -kTiny * (i % 2); }},
};

// The results have the same bits.
void expect_same(const std::string& type, const Dims& dims, const std::string& symbols = {}) {
  const Module before = parsed(type, symbols), after = split(type, symbols);
  ASSERT_EQ(ops_of(after.root()), kThree);
  for (const auto& [name, numbers] : kNumbers)
    EXPECT_EQ(results_of(after, dims, numbers), results_of(before, dims, numbers))
        << name << " of " << type;
}

TEST(SplitDynamicQuantize, OfManyElements) {
  EXPECT_EQ(ops_after("[65536]"), kThree);
  EXPECT_EQ(ops_after("[65535]"), kOne);
  EXPECT_EQ(ops_after("[2, 300, 200]"), kThree);
  EXPECT_EQ(ops_after("[2, 3, 200]"), kOne);
  EXPECT_EQ(ops_after("[0, 65536]"), kOne);
}

// What such sizes may be, and so what they are taken for, is 128 and more.
std::string open_axis(int axis) {
  return "symbol N = dim(@main, %x, " + std::to_string(axis) + ") in [128, *]\n";
}

// Of a single axis of open size there are no parts.
TEST(SplitDynamicQuantize, OfOpenSizes) {
  EXPECT_EQ(ops_after("[N, 768]", open_axis(0)), kThree);
  EXPECT_EQ(ops_after("[N, 8]", open_axis(0)), kOne);
  EXPECT_EQ(ops_after("[N]", "symbol N = dim(@main, %x, 0) in [100000, *]\n"), kOne);
}

TEST(SplitDynamicQuantize, KeepsResults) {
  expect_same("[98304]", {98304});
  expect_same("[3, 256, 100]", {3, 256, 100});
}

TEST(SplitDynamicQuantize, KeepsResultsOfSizesThatDoNotDivide) {
  expect_same("[70001]", {70001});
  expect_same("[7, 10007]", {7, 10007});
}

TEST(SplitDynamicQuantize, KeepsResultsOfOpenSizes) {
  for (const int64_t rows : {128, 129, 300}) expect_same("[N, 768]", {rows, 768}, open_axis(0));
  const std::string any = "symbol N = dim(@main, %x, 0)\n";
  for (const int64_t rows : {0, 1, 3}) expect_same("[N, 70001]", {rows, 70001}, any);
  for (const int64_t length : {0, 1, 50})
    expect_same("[2, N, 768]", {2, length, 768}, "symbol N = dim(@main, %x, 1)\n");
}

}  // namespace
}  // namespace sluice
