// The planners of best fit against their rule, written down as it is said: it looks at all buffers.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "stages/build/memory/planners/dense_tasks.h"
#include "stages/build/memory/planners/planners.h"
#include "stages/build/memory/testing/offset_plans.h"

namespace sluice {
namespace {

int64_t life(const Buffer& buffer) { return buffer.last - buffer.first + 1; }

// A buffer is placed before another one where its key is smaller; of equal ones the first is.
struct Order {
  const char* name;
  OffsetPlan (*plan)(const PlanRequest& request);
  std::pair<double, double> (*key)(const Buffer& buffer);
};

constexpr Order kOrders[] = {
    {"size", plan_best_fit_by_size,
     [](const Buffer& b) {
       return std::pair(-static_cast<double>(b.bytes), -static_cast<double>(life(b)));
     }},
    {"area", plan_best_fit_by_area,
     [](const Buffer& b) {
       return std::pair(-static_cast<double>(b.bytes) * static_cast<double>(life(b)), 0.0);
     }},
    {"life", plan_best_fit_by_life,
     [](const Buffer& b) {
       return std::pair(-static_cast<double>(life(b)), -static_cast<double>(b.bytes));
     }},
    {"time", plan_best_fit_by_time,
     [](const Buffer& b) {
       return std::pair(static_cast<double>(b.first), -static_cast<double>(b.bytes));
     }},
};

// Returns the first place from `begin` on that a buffer may have.
uint64_t allowed_from(uint64_t begin, uint64_t bytes, uint64_t sub_memory_bytes) {
  if (sub_memory_bytes == 0) return begin;
  const uint64_t next = (begin + sub_memory_bytes - 1) / sub_memory_bytes * sub_memory_bytes;
  return begin / sub_memory_bytes == (begin + bytes - 1) / sub_memory_bytes ? begin : next;
}

// A buffer goes to the smallest gap between those that are live with it, of equal ones the lowest,
// or above them.
uint64_t place(const Buffer& buffer, const std::vector<Buffer>& placed, uint64_t sub_memory_bytes) {
  std::vector<Buffer> live;
  for (const Buffer& other : placed) {
    if (other.first <= buffer.last && buffer.first <= other.last) live.push_back(other);
  }
  std::ranges::sort(live, {}, &Buffer::offset);
  uint64_t end = 0, smallest = UINT64_MAX, best = 0;
  for (const Buffer& other : live) {
    const uint64_t offset = allowed_from(end, buffer.bytes, sub_memory_bytes);
    if (other.offset >= offset + buffer.bytes && other.offset - end < smallest) {
      smallest = other.offset - end;
      best = offset;
    }
    end = std::max(end, other.offset + other.bytes);
  }
  return smallest < UINT64_MAX ? best : allowed_from(end, buffer.bytes, sub_memory_bytes);
}

std::vector<uint64_t> offsets_by_rule(const PlanRequest& request, const Order& order) {
  std::vector<size_t> ids(request.buffers.size());
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  std::ranges::stable_sort(ids, {}, [&](size_t id) { return order.key(request.buffers[id]); });
  std::vector<uint64_t> offsets(ids.size(), 0);
  std::vector<Buffer> placed;
  for (const size_t id : ids) {
    Buffer buffer = request.buffers[id];
    if (buffer.bytes == 0) continue;
    offsets[id] = buffer.offset = place(buffer, placed, request.sub_memory_bytes);
    placed.push_back(buffer);
  }
  return offsets;
}

void expect_rule(const PlanRequest& request) {
  for (const Order& order : kOrders) {
    SCOPED_TRACE(order.name);
    const OffsetPlan plan = order.plan(request);
    ASSERT_EQ(plan.offsets, offsets_by_rule(request, order));
    uint64_t end = 0;
    for (size_t i = 0; i < plan.offsets.size(); ++i)
      end = std::max(end, plan.offsets[i] + request.buffers[i].bytes);
    EXPECT_EQ(plan.arena_bytes, end);
  }
}

// Buffers of which some live long, and sizes that repeat, so that gaps fit exactly.
std::vector<Buffer> mixed_buffers(std::mt19937& random, size_t count) {
  const int64_t tasks = 1 + random() % 1500, longest = 1 + random() % tasks;
  const uint32_t long_lives = random() % 100, sizes = 1 + random() % 40;
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < count; ++i) {
    const int64_t first = random() % tasks;
    const int64_t lives = random() % 100 < long_lives ? longest : std::min<int64_t>(longest, 8);
    const int64_t last = random() % 10 == 0 ? tasks - 1 : first + random() % lives;
    buffers.push_back({first, std::min(last, tasks - 1), 64 * (random() % sizes)});
  }
  return buffers;
}

TEST(BestFit, OfFewBuffersFollowsItsRule) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const std::vector<Buffer> buffers =
        random_buffers(random, random() % 80, 1 + random() % 60, 1 + random() % 30);
    expect_rule({.buffers = with_dense_tasks(buffers)});
    expect_rule(
        {.buffers = with_dense_tasks(buffers), .sub_memory_bytes = 64 * (1 + random() % 200)});
  }
}

// Enough of them for several slabs of time, with many groups each.
TEST(BestFit, OfManyBuffersFollowsItsRule) {
  std::mt19937 random(8);
  for (int round = 0; round < 24; ++round) {
    SCOPED_TRACE(round);
    const std::vector<Buffer> buffers = mixed_buffers(random, 500 + random() % 1000);
    const uint64_t sub_memory_bytes = round % 4 == 0 ? 64 * (1 + random() % 500) : 0;
    expect_rule({.buffers = with_dense_tasks(buffers), .sub_memory_bytes = sub_memory_bytes});
  }
}

TEST(BestFit, StopsWhereItIsOfNoUseOrTakesTooLong) {
  std::mt19937 random(9);
  const std::vector<Buffer> buffers = with_dense_tasks(random_buffers(random, 500, 300, 100));
  for (const Order& order : kOrders) {
    SCOPED_TRACE(order.name);
    const OffsetPlan plan = order.plan({.buffers = buffers});
    const bool is_limited = order.plan != plan_best_fit_by_time;
    const OffsetPlan same = order.plan(
        {.buffers = buffers, .best_bytes = plan.arena_bytes + 1, .max_pairs = plan.pairs});
    EXPECT_EQ(same.offsets, plan.offsets);
    const OffsetPlan useless = order.plan({.buffers = buffers, .best_bytes = plan.arena_bytes});
    EXPECT_EQ(useless.offsets.empty(), is_limited);
    const OffsetPlan long_one = order.plan({.buffers = buffers, .max_pairs = plan.pairs - 1});
    EXPECT_EQ(long_one.offsets.empty(), is_limited);
  }
}

}  // namespace
}  // namespace sluice
