#include "stages/build/memory/task_orders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "common/ir/module.h"
#include "common/ir/predecessors.h"
#include "common/text/text.h"

namespace sluice {
namespace {

// A graph of nodes that read some of those before them; each result has 4 times so many bytes.
std::string random_graph(std::mt19937& random, int nodes) {
  std::string text = "sluice 1 lowered\ngraph @main(%v0: f32[8]) -> (%v" + std::to_string(nodes);
  text += ") {\n";
  for (int i = 1; i <= nodes; ++i) {
    text += fmt::format(
        "  %v{}: f32[{}] = Concat(%v{}, %v{}) {{axis = 0}} placement {{engine = "
        "host_cpu}}\n",
        i, 1 + random() % 64, i - 1 - static_cast<int>(random() % std::min(i, 6)),
        random() % static_cast<uint32_t>(i));
  }
  return text + "}\n";
}

// Counts the bytes that are live during each node, by first and last use.
uint64_t counted_peak(const TaskOrders& orders, const TaskOrders::Order& order) {
  std::map<const Value*, std::pair<size_t, size_t>> lives;
  const auto touch = [&](const Value& value, size_t at) {
    if (value.producer() == nullptr || value.is_output()) return;
    lives.try_emplace(&value, at, at).first->second.second = at;
  };
  for (size_t at = 0; at < order.size(); ++at) {
    const Node& node = orders.node(order[at]);
    touch(node.output(), at);
    for (size_t i = 0; i < node.input_count(); ++i) touch(*node.input(i), at);
  }
  uint64_t peak = 0;
  for (size_t at = 0; at < order.size(); ++at) {
    uint64_t live = 0;
    for (const auto& [value, life] : lives)
      live += life.first <= at && at <= life.second ? *value->type().dense_bytes() : 0;
    peak = std::max(peak, live);
  }
  return peak;
}

// With labels the tasks of a stream stay in the given order, and some are interleaved otherwise.
TEST(TaskOrders, StreamsKeepTheirOrder) {
  std::mt19937 random(4);
  int interleaved = 0;
  for (int round = 0; round < 60; ++round) {
    const Module module = parse_module(random_graph(random, 30), "test").value();
    for (Node& node : module.root().nodes())
      node.placement.stream_label.text = std::string(1, "abc"[random() % 3]);
    const TaskOrders orders(module.root(), true);
    for (const TaskOrders::Order& order : {orders.min_live(), orders.depth_first()}) {
      std::map<std::string, uint32_t> last;
      ASSERT_EQ(order.size(), 30u);
      for (const uint32_t index : order) {
        const std::string& stream = orders.node(index).placement.stream_label.text;
        EXPECT_LE(last[stream], index);
        last[stream] = index;
      }
      interleaved += order != orders.given() ? 1 : 0;
    }
  }
  EXPECT_GT(interleaved, 60);
}

TEST(TaskOrders, EachRunsANodeAfterWhatItReads) {
  std::mt19937 random(3);
  uint64_t given = 0, smallest = 0;
  for (int round = 0; round < 60; ++round) {
    const Module module =
        parse_module(random_graph(random, 1 + static_cast<int>(random() % 40)), "test").value();
    const TaskOrders orders(module.root());
    uint64_t best = orders.peak(orders.given());
    given += best;
    for (const TaskOrders::Order& order :
         {orders.given(), orders.min_live(), orders.depth_first()}) {
      ASSERT_EQ(order.size(), module.root().node_count());
      std::set<const Node*> done;
      for (const uint32_t index : order) {
        for_each_predecessor(orders.node(index),
                             [&](const Node& before) { ASSERT_TRUE(done.contains(&before)); });
        ASSERT_TRUE(done.insert(&orders.node(index)).second);
      }
      ASSERT_EQ(orders.peak(order), counted_peak(orders, order));
      best = std::min(best, orders.peak(order));
    }
    smallest += best;
  }
  EXPECT_LT(smallest, given);
}

}  // namespace
}  // namespace sluice
