#include "stages/build/streams/list_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace sluice {
namespace {

using Tasks = std::vector<CostedTask>;

void add_edge(Tasks& tasks, uint32_t before, uint32_t after, double transfer = 0) {
  tasks[after].before.push_back(before);
  tasks[after].transfer.push_back(transfer);
  tasks[before].after.push_back(after);
}

ListSchedule schedule(const Tasks& tasks, const ScheduleLimits& limits) {
  return schedule_list(tasks, 0, static_cast<uint32_t>(tasks.size()),
                       longest_paths(tasks, limits.threads), limits);
}

// Two rows of tasks, one after the other in their row.
Tasks make_rows(double first, double second, uint32_t blocks) {
  Tasks tasks(6, {.cycles = first, .blocks = blocks, .before = {}, .after = {}, .transfer = {}});
  for (uint32_t i = 0; i < 6; ++i) {
    if (i >= 3) tasks[i].cycles = second;
    if (i % 3 > 0) add_edge(tasks, i - 1, i);
  }
  return tasks;
}

TEST(ListSchedule, RowsOfNarrowTasksRunBesideEachOther) {
  const ListSchedule made = schedule(make_rows(1000, 1000, 1), {.sync = 10});
  EXPECT_EQ(made.stream[0], made.stream[2]);
  EXPECT_EQ(made.stream[3], made.stream[5]);
  EXPECT_NE(made.stream[0], made.stream[3]);
  EXPECT_EQ(made.waits, 1u);  // of what comes after
  EXPECT_DOUBLE_EQ(made.cycles, 3010);
}

TEST(ListSchedule, WideTasksAndSmallOnesStayInOneStream) {
  for (const ListSchedule& made : {schedule(make_rows(1000, 1000, 8), {.sync = 10}),
                                   schedule(make_rows(1000, 5, 1), {.sync = 10})}) {
    EXPECT_EQ(std::ranges::count(made.stream, 0u), 6);
    EXPECT_EQ(made.waits, 0u);
  }
}

TEST(ListSchedule, LongestPathKeepsTheMainStream) {
  Tasks tasks = make_rows(1000, 10, 8);
  const ListSchedule made = schedule(tasks, {.streams = 3, .threads = 3, .keeps_main = true});
  EXPECT_EQ(made.stream, (std::vector<uint32_t>{0, 0, 0, 1, 1, 1}));
}

TEST(ListSchedule, WhatIsNoTaskTakesNoTimeAndIsLongWithoutDepth) {
  Tasks tasks(200'000, {.cycles = 0, .before = {}, .after = {}, .transfer = {}});
  tasks.front().cycles = tasks.back().cycles = 7;
  for (uint32_t i = 1; i < tasks.size(); ++i) add_edge(tasks, i - 1, i);
  EXPECT_DOUBLE_EQ(schedule(tasks, {.sync = 1}).cycles, 14);
}

Tasks draw_tasks(std::mt19937_64& random) {
  Tasks tasks(2 + random() % 30);
  for (uint32_t i = 0; i < tasks.size(); ++i) {
    tasks[i].cycles = random() % 6 == 0 ? 0 : static_cast<double>(1 + random() % 1000);
    tasks[i].blocks = 1 + static_cast<uint32_t>(random() % 3 == 0 ? random() % 8 : 0);
    for (uint32_t before = 0; before < i; ++before)
      if (random() % 6 == 0) add_edge(tasks, before, i, static_cast<double>(random() % 100));
  }
  return tasks;
}

// Whatever the order is, no more work is done at a time than threads do, and no path is shorter
// than its tasks.
TEST(ListSchedule, OfRandomTasksIsAnOrderWithinTheBounds) {
  std::mt19937_64 random(38);
  for (int round = 0; round < 2000; ++round) {
    const Tasks tasks = draw_tasks(random);
    ScheduleLimits limits{.streams = 1 + static_cast<uint32_t>(random() % 4), .threads = 2};
    limits.threads = std::max(2u, limits.streams);
    limits.keeps_main = random() % 3 == 0;
    limits.sync = static_cast<double>(random() % 50);
    const ListSchedule made = schedule(tasks, limits);
    ASSERT_EQ(made.order.size(), tasks.size());
    std::vector<int> place(tasks.size(), -1);
    for (size_t k = 0; k < made.order.size(); ++k) place[made.order[k]] = static_cast<int>(k);
    double work = 0;
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      ASSERT_GE(place[i], 0);
      ASSERT_LT(made.stream[i], limits.streams);
      for (const uint32_t before : tasks[i].before) ASSERT_LT(place[before], place[i]);
      work += tasks[i].cycles;
    }
    const std::vector<double> paths = longest_paths(tasks, limits.threads);
    EXPECT_GE(made.cycles * (1 + 1e-9), *std::ranges::max_element(paths));
    EXPECT_GE(made.cycles * (1 + 1e-9), work / limits.threads);
    if (limits.streams == 1) {
      EXPECT_NEAR(made.cycles, serial_cycles(tasks, limits.threads), 1e-6);
      EXPECT_EQ(made.waits, 0u);
    }
  }
}

}  // namespace
}  // namespace sluice
