#include "stages/build/streams/record_chains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sluice {
namespace {

using Order = std::vector<std::vector<bool>>;  // [a][b]: b can follow a

Order random_order(size_t records, double density, std::mt19937& random) {
  Order order(records, std::vector<bool>(records, false));
  std::bernoulli_distribution is_edge(density);
  for (size_t a = records; a-- > 0;) {
    for (size_t b = a + 1; b < records; ++b) {
      if (!is_edge(random)) continue;
      order[a][b] = true;
      for (size_t c = 0; c < records; ++c) order[a][c] = order[a][c] || order[b][c];
    }
  }
  return order;
}

// Gives record after record to each chain that it can follow, or to a new one.
size_t min_chains(const Order& order, size_t record, std::vector<size_t>& ends) {
  if (record == order.size()) return ends.size();
  ends.push_back(record);
  size_t found = min_chains(order, record + 1, ends);
  ends.pop_back();
  for (size_t& end : ends) {
    if (!order[end][record]) continue;
    const size_t before = std::exchange(end, record);
    found = std::min(found, min_chains(order, record + 1, ends));
    end = before;
  }
  return found;
}

size_t count_of(const Order& order, const std::vector<uint32_t>& chains) {
  size_t count = 0;
  for (size_t b = 0; b < chains.size(); ++b) {
    count = std::max(count, size_t{chains[b]} + 1);
    for (size_t a = 0; a < b; ++a) {
      EXPECT_TRUE(chains[a] != chains[b] || order[a][b]) << a << " and " << b;
    }
  }
  return count;
}

TEST(RecordChains, AreAsFewAsCanBe) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const Order order =
        random_order(1 + random() % 9, std::array{0.1, 0.25, 0.5}[random() % 3], random);
    const auto chains = record_chains(std::vector<uint32_t>(order.size(), 0),
                                      [&](uint32_t a, uint32_t b) { return bool{order[a][b]}; });
    std::vector<size_t> ends;
    EXPECT_EQ(count_of(order, chains), min_chains(order, 0, ends)) << "round " << round;
  }
}

// Streams one after the other need one chain; those beside each other one each.
TEST(RecordChains, ManyRecordsNeedNoMoreThanTheirStreams) {
  constexpr uint32_t kStreams = 7;
  std::vector<uint32_t> streams;
  for (uint32_t record = 0; record < 20 * kMaxMatched; ++record)
    streams.push_back(record % kStreams);
  const auto count = [&](bool (*can_follow)(uint32_t, uint32_t)) {
    const std::vector<uint32_t> chains = record_chains(streams, can_follow);
    return *std::ranges::max_element(chains) + 1;
  };
  EXPECT_EQ(count([](uint32_t a, uint32_t b) { return a % kStreams == b % kStreams; }), kStreams);
  std::ranges::sort(streams);
  EXPECT_EQ(count([](uint32_t, uint32_t) { return true; }), 1u);
}

}  // namespace
}  // namespace sluice
