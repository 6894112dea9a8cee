#include "stages/build/memory/plan_streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>

#include "common/ir/module.h"
#include "common/text/text.h"
#include "stages/build/memory/plan_memory.h"
#include "stages/build/memory/plan_offsets.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

// A graph with buffers, and their arena.
class Scheduled {
 public:
  explicit Scheduled(const std::string& text)
      : module_(parse_module("sluice 1 lowered\n" + text, "test").value()) {
    for (const auto pass : {resolve_conflicts, assign_streams, insert_events, assign_buffers})
      EXPECT_TRUE(pass(module_.root(), Options()).ok());
    for (const MemoryBuffer& buffer : graph().buffers) {
      if (buffer.memory == MemoryClass::kArena)
        arena_.push_back({&buffer, arena_bytes_of(module_, buffer)});
    }
  }

  const Graph& graph() const { return *scheduled_graphs(module_.root())[0]; }
  const std::vector<StreamBuffer>& arena() const { return arena_; }

  OffsetPlan exclusive_plan() const {
    std::vector<Buffer> ranges;
    for (const auto& [buffer, bytes] : arena_)
      ranges.push_back({buffer->held.first, buffer->held.last, bytes, 0});
    return plan_offsets(ranges).value().plan;
  }

  // Checks each pair by the nodes: walks from each task to all that must come later.
  void expect_valid(const OffsetPlan& plan) const {
    const std::vector<std::vector<bool>> later = tasks_after();
    ASSERT_EQ(plan.offsets.size(), arena_.size());
    for (size_t a = 0; a < arena_.size(); ++a) {
      ASSERT_LE(plan.offsets[a] + arena_[a].bytes, plan.arena_bytes);
      for (size_t b = 0; b < a; ++b) {
        const bool overlap = plan.offsets[a] < plan.offsets[b] + arena_[b].bytes &&
                             plan.offsets[b] < plan.offsets[a] + arena_[a].bytes;
        if (!overlap) continue;
        ASSERT_TRUE(all_after(*arena_[a].buffer, *arena_[b].buffer, later) ||
                    all_after(*arena_[b].buffer, *arena_[a].buffer, later))
            << "buffers " << a << " and " << b;
      }
    }
  }

 private:
  // Returns for each task those that begin after it is done, by streams and events.
  std::vector<std::vector<bool>> tasks_after() const {
    const std::vector<Node*> tasks = tasks_of(graph());
    std::vector<std::vector<bool>> after(tasks.size(), std::vector<bool>(tasks.size(), false));
    for (size_t i = tasks.size(); i-- > 0;) {
      for (size_t j = i + 1; j < tasks.size(); ++j) {
        const Placement &a = tasks[i]->placement, &b = tasks[j]->placement;
        bool is_next = a.stream == b.stream;
        for (const uint32_t event : a.records)
          is_next = is_next || std::ranges::count(b.waits, event, &EventWait::event) > 0;
        if (!is_next) continue;
        after[i][j] = true;
        for (size_t k = 0; k < tasks.size(); ++k) after[i][k] = after[i][k] || after[j][k];
      }
    }
    return after;
  }

  static bool all_after(const MemoryBuffer& a, const MemoryBuffer& b,
                        const std::vector<std::vector<bool>>& after) {
    for (const LiveRange& used : a.live) {
      for (const LiveRange& needed : b.live) {
        if (!after[used.last][needed.first]) return false;
      }
    }
    return true;
  }

  Module module_;
  std::vector<StreamBuffer> arena_;
};

std::string node(const std::string& result, const std::string& op, const std::string& operands,
                 const std::string& stream) {
  return "  %" + result + ": f32[16] = " + op + "(" + operands +
         ") placement {engine = host_cpu, stream_label = \"" + stream + "\"}\n";
}

// The right stream never knows that %a and %b are free; the left one, whose own they are, does.
TEST(PlanStreams, AStreamReusesItsOwnBytes) {
  std::string text = "graph @main(%x: f32[16], %z: f32[16]) -> (%y, %w) {\n";
  text += node("a", "Neg", "%x", "left") + node("r", "Neg", "%z", "right");
  text += node("b", "Sin", "%a", "left") + node("s", "Sin", "%r", "right");
  text += node("c", "Cos", "%b", "left") + node("t", "Cos", "%s", "right");
  text += node("y", "Exp", "%c", "left") + node("w", "Exp", "%t", "right") + "}\n";
  const Scheduled scheduled(text);
  const OffsetPlan plan = plan_streams(scheduled.arena(), HappensBefore(scheduled.graph()));
  scheduled.expect_valid(plan);
  EXPECT_EQ(plan.arena_bytes, 4 * 64u);  // two of each stream
  EXPECT_EQ(scheduled.exclusive_plan().arena_bytes, 6 * 64u);
}

// Random graphs of three streams: a node reads one or two of the values before it.
TEST(PlanStreams, OfRandomStreamsNeverOverlap) {
  std::mt19937 random(1);
  uint64_t by_pairs = 0, exclusive = 0;
  for (int round = 0; round < 60; ++round) {
    std::string text = "graph @main(%v0: f32[16]) -> (%v39) {\n";
    for (int i = 1; i < 40; ++i) {
      const auto operand = [&] {
        return "%v" + std::to_string(std::max(0, i - 1 - static_cast<int>(random() % 6)));
      };
      const std::string stream = "s" + std::to_string(random() % 3);
      const std::string name = "v" + std::to_string(i);
      text += random() % 2 == 0 ? node(name, "Sin", operand(), stream)
                                : node(name, "Add", operand() + ", " + operand(), stream);
    }
    const Scheduled scheduled(text + "}\n");
    const OffsetPlan plan = plan_streams(scheduled.arena(), HappensBefore(scheduled.graph()));
    scheduled.expect_valid(plan);
    ASSERT_GE(plan.arena_bytes, stream_peak(scheduled.arena()).bytes);
    by_pairs += plan.arena_bytes;
    exclusive += scheduled.exclusive_plan().arena_bytes;
  }
  EXPECT_LT(by_pairs, exclusive);
  std::printf("arenas of 60 graphs: %llu bytes by pairs, %llu by ranges\n",
              static_cast<unsigned long long>(by_pairs),
              static_cast<unsigned long long>(exclusive));
}

// The time is printed, not judged.
TEST(PlanStreams, OfManyBuffersIsQuick) {
  constexpr size_t kBuffers = 4096;
  std::string text = "graph @main(%v0: f32[16]) -> (%last) {\n";
  for (size_t i = 1; i <= kBuffers; ++i) {
    text += node("v" + std::to_string(i), "Sin", "%v" + std::to_string(i < 4 ? 0 : i - 3),
                 "s" + std::to_string(i % 3));
  }
  text += node("last", "Neg", "%v" + std::to_string(kBuffers), "s0") + "}\n";
  const Scheduled scheduled(text);
  ASSERT_EQ(scheduled.arena().size(), kBuffers);
  const auto start = std::chrono::steady_clock::now();
  const OffsetPlan plan = plan_streams(scheduled.arena(), HappensBefore(scheduled.graph()));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_FALSE(plan.offsets.empty());
  std::printf("%zu buffers: %.2f s, arena %llu\n", kBuffers, seconds.count(),
              static_cast<unsigned long long>(plan.arena_bytes));
}

}  // namespace
}  // namespace sluice
