#include "stages/build/memory/held_tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "common/text/text.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

// A graph of several streams, some of which may have no task.
std::string random_streams(std::mt19937& random, int tasks, uint32_t streams, int reach) {
  std::string text =
      "sluice 1 lowered\ngraph @main(%v0: f32[16]) -> (%v" + std::to_string(tasks) + ") {\n";
  for (int i = 1; i <= tasks; ++i) {
    const auto operand = [&] {
      const int back = static_cast<int>(random() % static_cast<uint32_t>(reach));
      return "%v" + std::to_string(std::max(0, i - 1 - back));
    };
    text += "  %v" + std::to_string(i) + ": f32[16] = Add(" + operand() + ", " + operand() +
            ") placement {engine = host_cpu, stream_label = \"s" +
            std::to_string(random() % streams) + "\"}\n";
  }
  return text + "}\n";
}

// Returns the last task before which some stream does not know that the buffer is free, stream by
// stream and task by task.
uint32_t counted_last(const MemoryBuffer& buffer, const HappensBefore& order) {
  uint32_t held = hull_of(buffer.live).last;
  for (uint32_t stream = 0; stream < order.stream_count(); ++stream) {
    const std::span<const uint32_t> positions = order.positions(stream);
    if (positions.empty()) continue;
    const auto knows = [&](uint32_t position) {
      return std::ranges::all_of(buffer.live, [&](const LiveRange& range) {
        return order.is_before(range.last, position);
      });
    };
    const auto first = std::ranges::find_if(positions, knows);
    held = std::max(held, (first != positions.end() ? *first : positions.back() + 1) - 1);
  }
  return held;
}

TEST(HeldTasks, EndWhereTheLastStreamKnows) {
  std::mt19937 random(1);
  int longer = 0;
  for (int round = 0; round < 200; ++round) {
    const Module module =
        parse_module(random_streams(random, 1 + static_cast<int>(random() % 60), 1 + random() % 6,
                                    1 + static_cast<int>(random() % 12)),
                     "test")
            .value();
    for (const auto pass : {resolve_conflicts, assign_streams, insert_events, assign_buffers})
      ASSERT_TRUE(pass(module.root(), Options()).ok());
    const HappensBefore order(module.root());
    const HeldTasks held(order);
    for (const MemoryBuffer& buffer : module.root().buffers) {
      if (buffer.live.empty()) continue;
      const TaskRange hull = hull_of(buffer.live);
      const uint32_t last = order.stream_count() < 2 ? hull.last : counted_last(buffer, order);
      EXPECT_EQ(held.of(buffer), (TaskRange{hull.first, last}));
      longer += last > hull.last ? 1 : 0;
    }
  }
  EXPECT_GT(longer, 1000);
}

}  // namespace
}  // namespace sluice
