// Gives the buffers of each part's arena their offsets, so that buffers that are live together
// never overlap: by the planners of plan_offsets.h, and those of plan_streams.h where a part has
// several streams. The arena ends with the last of them; of scratch, which a kernel has for itself
// while it runs, a worker needs as much as the kernel that needs most.
//
//   before:  buffer b0 = arena bytes 4096 live "main" [0, 1]
//            buffer b1 = arena bytes 4096 live "main" [1, 2]
//            buffer b2 = arena bytes 4096 live "main" [2, 3]
//   after:   arena bytes 8192
//            … offset 0 …   … offset 4096 …   … offset 0 …
//
// Symbolic sizes count with their maximum, where dims are bounded; where one is not, or the arena
// would be larger than any model may have, offsets are left to the loader. Each class of memory is
// planned by itself, in sub-memories where its allocations are bounded (sub_memories.h), and begins
// where the class before it ends.
#include "stages/build/memory/plan_memory.h"

#include <algorithm>

#include "common/base/work.h"
#include "common/ir/module.h"
#include "common/omfile/om_format.h"
#include "common/ops/value_bytes.h"
#include "common/target/profile.h"
#include "stages/build/memory/largest_live.h"
#include "stages/build/memory/plan_offsets.h"
#include "stages/build/memory/plan_streams.h"
#include "stages/build/memory/sub_memories.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

// Returns the values of buffers of a class that are live at a position in the order of tasks, one
// for each buffer.
std::vector<NamedBytes> values_live_at(const Graph& graph, uint32_t memory, int64_t at) {
  std::vector<bool> is_live(graph.buffers.size(), false);
  for (size_t id = 0; id < is_live.size(); ++id) {
    const MemoryBuffer& buffer = graph.buffers[id];
    is_live[id] =
        buffer.memory == MemoryClass::kArena && buffer.binding == memory &&
        std::ranges::any_of(buffer.live,
                            [&](const LiveRange& range) { return range.first <= at; }) &&
        std::ranges::any_of(buffer.live, [&](const LiveRange& range) { return range.last >= at; });
  }
  std::vector<NamedBytes> values;
  for (const Value& value : graph.values()) {
    if (value.is_erased() || value.place().buffer < 0) continue;
    const auto id = static_cast<size_t>(value.place().buffer);
    if (is_live[id])
      values.push_back({value.name(), arena_bytes_of(graph.module(), graph.buffers[id])});
    is_live[id] = false;
  }
  return values;
}

Error too_large(const Graph& graph, uint32_t memory, uint64_t bytes, int64_t at) {
  const Node& node = *tasks_of(graph)[static_cast<size_t>(at)];
  return make_error(ErrorCode::kLimit,
                    "{}: the values that are needed while it runs take {} bytes of memory, a "
                    "model may have {}; the largest: {}",
                    node.label(), bytes, kOmArenaLimit,
                    largest_live(values_live_at(graph, memory, at)))
      .with_hint(
          "make the inputs smaller (--input-shape, --dim), or leave dims open: --dim "
          "NAME=LOW..HIGH");
}

// Plans one class of the memory of a graph.
class ArenaPlanner {
 public:
  // memory: the index of the class among Graph::memories; limits: its limits.
  ArenaPlanner(Graph& graph, uint32_t memory, MemoryClassLimits limits, int64_t threads)
      : graph_(graph), memory_(memory), limits_(std::move(limits)), threads_(threads) {}

  Result<void> run() {
    if (!find_buffers() || buffers_.empty()) return {};
    const LivePeak live = stream_peak(buffers_);
    OffsetPlan plan{{}, live.bytes};
    if (live.bytes <= kOmArenaLimit) {
      SLUICE_ASSIGN(plan, smallest_plan(live.bytes));
    }
    add_work(Work::kBufferPairs, plan.pairs);
    if (plan.arena_bytes > kOmArenaLimit) {
      return graph_.shapes == ShapeClass::kSymbolic
                 ? Result<void>()
                 : too_large(graph_, memory_, plan.arena_bytes, live.task);
    }
    const auto largest = static_cast<uint64_t>(limits_.sub_memory_bytes);
    place(largest == 0 || plan.arena_bytes <= largest
              ? SubMemoryPlan{std::move(plan.offsets), {plan.arena_bytes}}
              : plan_sub_memories(ranges(), largest));
    return {};
  }

 private:
  // Returns false when a size has no maximum.
  bool find_buffers() {
    for (size_t id = 0; id < graph_.buffers.size(); ++id) {
      const MemoryBuffer& buffer = graph_.buffers[id];
      if (buffer.memory != MemoryClass::kArena || buffer.binding != memory_) continue;
      if (!max_bytes(graph_.module(), buffer.bytes)) return false;
      ids_.push_back(id);
      buffers_.push_back({&buffer, arena_bytes_of(graph_.module(), buffer,
                                                  static_cast<uint64_t>(limits_.alignment))});
    }
    add_work(Work::kBuffers, buffers_.size());
    return true;
  }

  // Returns the buffers with one range of tasks for each.
  std::vector<Buffer> ranges() const {
    std::vector<Buffer> ranges;
    for (const auto& [buffer, bytes] : buffers_)
      ranges.push_back({buffer->held.first, buffer->held.last, bytes, 0});
    return ranges;
  }

  // Of several streams, two plans are made: by one range of tasks for each buffer, and by pairs.
  Result<OffsetPlan> smallest_plan(uint64_t live_bytes) {
    SLUICE_ASSIGN(ChosenPlan chosen,
                  plan_offsets(ranges(), {.enough = live_bytes, .threads = threads_}));
    if (graph_.streams.size() <= 1 || chosen.plan.arena_bytes <= live_bytes ||
        buffers_.size() > kMaxStreamBuffers)
      return std::move(chosen.plan);
    OffsetPlan by_pairs = plan_streams(buffers_, HappensBefore(graph_));
    const uint64_t pairs = by_pairs.pairs + chosen.plan.pairs;
    OffsetPlan& best = by_pairs.arena_bytes < chosen.plan.arena_bytes ? by_pairs : chosen.plan;
    best.pairs = pairs;
    return std::move(best);
  }

  void place(const SubMemoryPlan& plan) {
    const uint64_t begin = begin_of(graph_.memories, memory_);
    for (size_t i = 0; i < buffers_.size(); ++i)
      graph_.buffers[ids_[i]].offset = Dim::fixed(static_cast<int64_t>(begin + plan.offsets[i]));
    if (!graph_.memories.empty()) graph_.memories[memory_].sub_memories = plan.sub_memories;
  }

  Graph& graph_;
  const uint32_t memory_;
  const MemoryClassLimits limits_;
  const int64_t threads_;
  std::vector<StreamBuffer> buffers_;
  std::vector<size_t> ids_;  // of the graph's buffers
};

// Returns the limits of each class of the graph's memory; without classes there is one.
Result<std::vector<MemoryClassLimits>> limits_of(const Graph& graph, const Options& options) {
  if (graph.memories.empty()) return std::vector<MemoryClassLimits>(1);
  SLUICE_ASSIGN(const DeviceProfile profile, get_profile(options.text("profile")));
  std::vector<MemoryClassLimits> limits;
  for (const DeviceMemory& memory : graph.memories) {
    SLUICE_ASSIGN(const size_t index, find_memory_class(profile, memory.name));
    limits.push_back(profile.memory_classes[index]);
  }
  return limits;
}

void leave_to_loader(Graph& graph) {
  for (MemoryBuffer& buffer : graph.buffers) {
    if (buffer.memory == MemoryClass::kArena) buffer.offset = Dim::unknown();
  }
  for (DeviceMemory& memory : graph.memories) memory.sub_memories.clear();
}

uint64_t bytes_of_classes(const Graph& graph) {
  return begin_of(graph.memories, static_cast<uint32_t>(graph.memories.size()));
}

// A part of symbolic sizes has offsets in all of its classes, or in none: the loader places all.
Result<void> place_all_or_none(Graph& graph) {
  const uint64_t bytes = bytes_of_classes(graph);
  if (bytes > kOmArenaLimit && graph.shapes == ShapeClass::kFixed)
    return make_error(ErrorCode::kLimit,
                      "graph '{}': its classes of memory have {} bytes together, a model may have "
                      "{}",
                      graph.name(), bytes, kOmArenaLimit)
        .with_hint("make the inputs smaller (--input-shape, --dim)");
  const bool is_placed = std::ranges::all_of(graph.buffers, [](const MemoryBuffer& buffer) {
    return buffer.memory != MemoryClass::kArena || buffer.offset.is_fixed();
  });
  if (!is_placed || bytes > kOmArenaLimit) leave_to_loader(graph);
  return {};
}

uint64_t end_of_arena(const Graph& graph) {
  uint64_t end = bytes_of_classes(graph);
  for (const MemoryBuffer& buffer : graph.buffers) {
    if (buffer.memory != MemoryClass::kArena || !buffer.offset.is_fixed()) continue;
    end = std::max(
        end, static_cast<uint64_t>(buffer.offset.value) + arena_bytes_of(graph.module(), buffer));
  }
  return end;
}

uint64_t largest_scratch(const Graph& graph) {
  uint64_t largest = 0;
  for (const Node* task : tasks_of(graph)) {
    if (task_kind(*task) != TaskKind::kLaunch) continue;
    largest = std::max(largest, graph.module().kernel(task->placement.kernel).scratch_bytes);
  }
  return largest;
}

}  // namespace

uint64_t arena_bytes_of(const Module& module, const MemoryBuffer& buffer, uint64_t alignment) {
  const uint64_t bytes = max_bytes(module, buffer.bytes).value_or(0);
  return (bytes + alignment - 1) / alignment * alignment;
}

Result<bool> plan_memory(Graph& root, const Options& options) {
  SLUICE_ASSIGN(const int64_t threads, options.threads());
  for (Graph* graph : scheduled_graphs(root)) {
    SLUICE_TRY(check_streams(*graph));
    SLUICE_ASSIGN(const std::vector<MemoryClassLimits> limits, limits_of(*graph, options));
    for (uint32_t memory = 0; memory < limits.size(); ++memory)
      SLUICE_TRY(ArenaPlanner(*graph, memory, limits[memory], threads).run());
    SLUICE_TRY(place_all_or_none(*graph));
    graph->arena_bytes = end_of_arena(*graph);
    graph->scratch_bytes = largest_scratch(*graph);
  }
  return true;
}

}  // namespace sluice
