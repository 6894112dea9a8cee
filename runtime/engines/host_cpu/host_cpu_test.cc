#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "common/graphfile/graphfile.h"
#include "common/omfile/testing/model_builder.h"
#include "common/text/text.h"
#include "runtime/executor/hybrid_run.h"
#include "runtime/executor/run.h"

namespace sluice {
namespace {

using ModelRun = sluice::Run;  // gtest has a Run of its own
using ::testing::HasSubstr;

// The graph total = Add(x, w); picked = Gather(total, index): node ids 0 and 1.
std::vector<std::byte> host_graph() {
  Module module;
  Graph& main = module.add_graph("main");
  const TypeId vector = module.intern(Type::fixed_tensor(DType::kF32, {4}));
  Value& x = main.add_input(vector, "x");
  Value& w = main.add_input(vector, "w");
  Value& index = main.add_input(module.intern(Type::fixed_tensor(DType::kI64, {2})), "index");
  Node& add = main.add_node(Op::kAdd, {&x, &w});
  add.set_name("total");
  add.output().set_type(vector);
  Node& gather = main.add_node(Op::kGather, {&add.output(), &index});
  gather.set_name("pick");
  gather.set_attribute("axis", int64_t{0});
  gather.output().set_type(module.intern(Type::fixed_tensor(DType::kF32, {2})));
  main.add_output(gather.output());
  return graph_bytes(module).value();
}

struct Built {
  pb::ModelDef model;
  std::vector<std::byte> graph = host_graph();
  std::vector<float> weights = std::vector<float>(16, 0.5f);

  std::vector<std::byte> om() const {
    return testing::om_bytes(
        model, {{.kind = pb::SEGMENT_WEIGHTS,
                 .pieces = {{0, std::as_bytes(std::span(weights))}},
                 .bytes = 64},
                {.kind = pb::SEGMENT_GRAPH, .pieces = {{0, graph}}, .bytes = graph.size()}});
  }
  Result<std::shared_ptr<const StaticModel>> open() const {
    return StaticModel::open(OmBytes::copy(om()).value());
  }
};

Built build() {
  testing::ModelBuilder b;
  const uint32_t vector = b.type(DType::kF32, {4});
  const uint32_t pair = b.type(DType::kF32, {2});
  const uint32_t indices = b.type(DType::kI64, {2});
  const uint32_t x = b.input("x", vector);
  const uint32_t index = b.input("index", indices);
  const uint32_t y = b.output("y", pair);
  const uint32_t w = b.value("w", vector, pb::REGION_WEIGHTS, 0);
  const uint32_t total = b.arena_value("total", vector);
  const uint32_t stream = b.stream("main");
  b.task(pb::TASK_HOST, "total", stream, 0, {total}, {x, w});
  b.task(pb::TASK_HOST, "pick", stream, 1, {y}, {total, index});
  b.part().set_has_host(true);
  b.part().set_host_graph(1);
  return {.model = b.model};
}

TEST(HostCpu, RunsNodesInPlannedMemory) {
  const auto model = build().open();
  ASSERT_TRUE(model) << model.error().message;
  ModelRun run(*model, shared_device(2).value());
  const std::vector<float> x{1, 2, 3, 4};
  const std::vector<int64_t> index{3, 0};
  std::vector<float> y(2);
  ASSERT_TRUE(run.bind_input(0, std::as_bytes(std::span(x))));
  ASSERT_TRUE(run.bind_input(1, std::as_bytes(std::span(index))));
  ASSERT_TRUE(run.bind_output(0, std::as_writable_bytes(std::span(y))));
  const auto done = run.execute();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(y, ::testing::ElementsAre(4.5f, 1.5f));
}

TEST(HostCpu, AnErrorOfANodeIsTheRunsError) {
  const auto model = build().open();
  ASSERT_TRUE(model) << model.error().message;
  ModelRun run(*model, shared_device(1).value());
  const std::vector<float> x{1, 2, 3, 4};
  const std::vector<int64_t> index{3, 9};
  ASSERT_TRUE(run.bind_input(0, std::as_bytes(std::span(x))));
  ASSERT_TRUE(run.bind_input(1, std::as_bytes(std::span(index))));
  const auto done = run.execute();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kBadValue);
  EXPECT_THAT(done.error().message, HasSubstr("pick"));
}

TEST(HostCpu, RefusesTasksThatDoNotFitTheirNodes) {
  Built wrong_node = build();
  wrong_node.model.mutable_parts(0)->mutable_fixed()->set_task_target(1, 7);
  EXPECT_THAT(wrong_node.open().error().message, HasSubstr("node 7 is not in the host graph"));
  Built wrong_inputs = build();
  wrong_inputs.model.mutable_parts(0)->mutable_fixed()->set_task_outputs(1, 2);
  EXPECT_FALSE(wrong_inputs.open());
  Built no_graph = build();
  no_graph.graph.assign(100, std::byte{1});
  EXPECT_FALSE(no_graph.open());
}

// One tree of two levels over rows of two features; its tables lie among the weights.
//
//   x0 <= 0: x1 <= -1: 1, else 2     else: x1 <= 1: 3, else 4
constexpr int64_t kTreeRows = 20000;  // several blocks

std::string tree_text(const std::string& true_ids, const std::string& true_leaves) {
  const std::string rows = std::to_string(kTreeRows);
  return "sluice 1 typed\ngraph @main(%x: f32[" + rows +
         ", 2], %s: f32[3], %m: u8[3], %w: f32[4]) -> (%y) {\n  %y: f32[" + rows +
         ", 1] = TreeEnsemble(%x, %s, %m, %w) {leaf_targetids = [0, 0, 0, 0], n_targets = 1, "
         "nodes_falseleafs = [0, 1, 1], nodes_falsenodeids = [2, 1, 3], "
         "nodes_featureids = [0, 1, 1], nodes_trueleafs = " +
         true_leaves + ", nodes_truenodeids = " + true_ids +
         ", tree_roots = [0]} name \"tree\"\n}\n";
}

Result<std::shared_ptr<const StaticModel>> open_tree(const std::string& text) {
  auto module = parse_module(text, "tree");
  EXPECT_TRUE(module) << module.error().message;
  const std::vector<std::byte> graph = graph_bytes(*module).value();
  std::vector<std::byte> weights(192);  // splits, modes, weights of leaves, each at 64 bytes
  const float splits[] = {0, -1, 1}, leaves[] = {1, 2, 3, 4};
  std::memcpy(weights.data(), splits, sizeof(splits));
  std::memcpy(weights.data() + 128, leaves, sizeof(leaves));
  testing::ModelBuilder b;
  const uint32_t x = b.input("x", b.type(DType::kF32, {kTreeRows, 2}));
  const uint32_t y = b.output("y", b.type(DType::kF32, {kTreeRows, 1}));
  const uint32_t s = b.value("s", b.type(DType::kF32, {3}), pb::REGION_WEIGHTS, 0);
  const uint32_t m = b.value("m", b.type(DType::kU8, {3}), pb::REGION_WEIGHTS, 64);
  const uint32_t w = b.value("w", b.type(DType::kF32, {4}), pb::REGION_WEIGHTS, 128);
  b.task(pb::TASK_HOST, "tree", b.stream("main"), 0, {y}, {x, s, m, w});
  b.part().set_has_host(true);
  b.part().set_host_graph(1);
  return StaticModel::open(
      OmBytes::copy(
          testing::om_bytes(
              b.model,
              {{.kind = pb::SEGMENT_WEIGHTS, .pieces = {{0, weights}}, .bytes = weights.size()},
               {.kind = pb::SEGMENT_GRAPH, .pieces = {{0, graph}}, .bytes = graph.size()}}))
          .value());
}

TEST(HostCpu, ThreadsShareTheRowsOfATree) {
  const auto model = open_tree(tree_text("[1, 0, 2]", "[0, 1, 1]"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_GT((*model)->queue().tasks.at(0).blocks, 2);
  std::mt19937 random(3);
  std::vector<float> x(2 * kTreeRows), wanted;
  for (float& each : x) each = static_cast<float>(static_cast<int>(random() % 9) - 4) / 2;
  for (size_t i = 0; i < x.size(); i += 2)
    wanted.push_back(x[i] <= 0 ? (x[i + 1] <= -1 ? 1.0f : 2.0f) : (x[i + 1] <= 1 ? 3.0f : 4.0f));
  for (const int threads : {1, 4}) {
    ModelRun run(*model, shared_device(threads).value());
    std::vector<float> y(kTreeRows);
    ASSERT_TRUE(run.bind_input(0, std::as_bytes(std::span(x))));
    ASSERT_TRUE(run.bind_output(0, std::as_writable_bytes(std::span(y))));
    const auto done = run.execute();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(y, wanted);
  }
}

TEST(HostCpu, TreesThatDoNotEndAreNotOpened) {
  const auto circle = open_tree(tree_text("[1, 0, 2]", "[0, 0, 1]"));
  ASSERT_FALSE(circle);
  EXPECT_THAT(circle.error().message, HasSubstr("the tree with root 0 has a circle"));
  EXPECT_THAT(circle.error().message, HasSubstr("'tree'"));
  EXPECT_THAT(open_tree(tree_text("[1, 4, 2]", "[0, 1, 1]")).error().message,
              HasSubstr("there is no leaf 4, only 4"));
}

// A model that is a root only, whose values have sizes that are known only in a run.
std::vector<std::byte> rooted_om() {
  auto module = parse_module(R"(sluice 1 typed
graph @main(%x: f32[?]) -> (%where, %last) {
  %turns = constant i64[] [3]
  %go = constant bool[] [true]
  %where: i64[1, ?] = NonZero(%x)
  %last: f32[?] = Loop(%turns, %go, %x) {body = @main.body}
}
graph @main.body(%i: i64[], %go: bool[], %v: f32[?]) -> (%go, %twice) body {
  %twice: f32[?] = Concat(%v, %v) {axis = 0}
}
)",
                             "root");
  EXPECT_TRUE(module) << module.error().message;
  const std::vector<std::byte> graph = graph_bytes(*module).value();
  testing::ModelBuilder b;
  b.model.clear_parts();
  const auto bind = [&](pb::BindingDef& binding, const char* name, uint32_t type) {
    binding.set_name(name);
    binding.set_type(type);
  };
  bind(*b.model.add_inputs(), "x", b.type(DType::kF32, {-1}));
  bind(*b.model.add_outputs(), "where", b.type(DType::kI64, {1, -1}));
  bind(*b.model.add_outputs(), "last", b.type(DType::kF32, {-1}));
  b.model.mutable_root()->set_graph(1);
  return testing::om_bytes(
      b.model, {{.kind = pb::SEGMENT_WEIGHTS},
                {.kind = pb::SEGMENT_GRAPH, .pieces = {{0, graph}}, .bytes = graph.size()}});
}

TEST(HostCpu, RunsOfSizesSeenBeforeTakeNoMemory) {
  const auto model = OpenedModel::open(OmBytes::copy(rooted_om()).value());
  ASSERT_TRUE(model) << model.error().message;
  HybridRun run(HybridModel::lower(*model).value(), shared_device(1).value());
  constexpr size_t kSizes = 150;
  const std::vector<float> ones(kSizes * 40, 1.0f);
  std::mt19937 random(1);
  MemoryCounters seen;
  for (size_t i = 0; i < 3000; ++i) {
    const size_t count = 40 * (i < kSizes ? i + 1 : random() % kSizes + 1);
    HostValue x;
    x.tensors.push_back({DType::kF32,
                         {static_cast<int64_t>(count)},
                         std::as_bytes(std::span(ones).first(count)),
                         nullptr});
    ASSERT_TRUE(run.bind_input(0, x));
    const auto done = run.execute();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(run.output(0).tensors[0].dims,
              (std::vector<int64_t>{1, static_cast<int64_t>(count)}));
    EXPECT_EQ(run.output(1).tensors[0].dims,
              (std::vector<int64_t>{static_cast<int64_t>(8 * count)}));
    if (i == kSizes + 49) seen = run.memory();
  }
  const MemoryCounters last = run.memory();
  EXPECT_GT(seen.held_slabs, 0u);
  EXPECT_EQ(last.system_calls, seen.system_calls);
  EXPECT_EQ(last.held_slabs, seen.held_slabs);
  EXPECT_EQ(last.held_bytes, seen.held_bytes);
  EXPECT_EQ(last.max_used_bytes, seen.max_used_bytes);
}

// A thread that walks a root is busy, also between its parts: of six callers on a device of two
// threads, two work at a time.
TEST(HostCpu, WalkedNodesAreWorkOfTheDevice) {
  const auto opened = OpenedModel::open(OmBytes::copy(rooted_om()).value());
  ASSERT_TRUE(opened) << opened.error().message;
  const auto model = HybridModel::lower(*opened).value();
  const auto device = shared_device(2).value();
  std::atomic<int> busy{0}, maximum{0};
  HybridObserver observer;
  observer.value_made = [&](const std::string&, const HostValue&) {
    const int now = ++busy;
    for (int seen = maximum; now > seen && !maximum.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --busy;
  };
  const std::vector<float> x{0, 2, 3};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&] {
      HybridRun run(model, device);
      ASSERT_TRUE(run.bind_input(
          0, {.tensors = {{DType::kF32, {3}, std::as_bytes(std::span(x)), nullptr}}}));
      for (int round = 0; round < 5; ++round) EXPECT_TRUE(run.execute(observer));
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(maximum, 2);
}

// NonZero reads 3 floats and makes 2 places; Loop reads its count, its condition and 3 floats and
// makes 24.
TEST(HostCpu, CountsTheBytesOfWalkedNodes) {
  const auto model = OpenedModel::open(OmBytes::copy(rooted_om()).value());
  ASSERT_TRUE(model) << model.error().message;
  HybridRun run(HybridModel::lower(*model).value(), shared_device(1).value());
  const std::vector<float> x{0, 2, 3};
  ASSERT_TRUE(
      run.bind_input(0, {.tensors = {{DType::kF32, {3}, std::as_bytes(std::span(x)), nullptr}}}));
  std::vector<uint64_t> bytes(2);
  HybridObserver observer;
  observer.node_bytes = &bytes;
  ASSERT_TRUE(run.execute(observer));
  EXPECT_EQ(bytes, (std::vector<uint64_t>{12 + 16, 8 + 1 + 12 + 96}));
}

TEST(HostCpu, OutputsOutliveTheirRun) {
  const auto model = OpenedModel::open(OmBytes::copy(rooted_om()).value());
  ASSERT_TRUE(model) << model.error().message;
  const std::vector<float> x{0, 2, 3};
  HostValue last;
  {
    HybridRun run(HybridModel::lower(*model).value(), shared_device(1).value());
    ASSERT_TRUE(
        run.bind_input(0, {.tensors = {{DType::kF32, {3}, std::as_bytes(std::span(x)), nullptr}}}));
    ASSERT_TRUE(run.execute());
    last = run.output(1);
  }
  ASSERT_EQ(last.tensors[0].bytes.size(), 24 * sizeof(float));
  float element = 0;
  std::memcpy(&element, last.tensors[0].bytes.data() + 23 * sizeof(float), sizeof(element));
  EXPECT_EQ(element, 3.0f);
}

}  // namespace
}  // namespace sluice
