// Gives the buffers of each part's arena their offsets, so that buffers that are live together
// never overlap.
//
//   before:  buffer b0 = arena bytes 4096 live "main" [0, 1]
//            buffer b1 = arena bytes 4096 live "main" [1, 2]
//            buffer b2 = arena bytes 4096 live "main" [2, 3]
//   after:   … offset 0 …   … offset 4096 …   … offset 0 …
//
// Symbolic sizes count with their maximum, where dims are bounded; where one is not, or the arena
// would be larger than any model may have, offsets are left to the loader.
#include "stages/build/memory/plan_memory.h"

#include <algorithm>

#include "common/base/work.h"
#include "common/ir/module.h"
#include "common/omfile/om_format.h"
#include "stages/build/memory/plan_offsets.h"
#include "stages/build/memory/value_bytes.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

// Returns the position in the order of tasks from which on no task of the stream needs to wait for
// the buffer's tasks: all of them are done before. The stream's end when there is none.
int64_t free_from(const MemoryBuffer& buffer, const HappensBefore& order, uint32_t stream) {
  const std::span<const uint32_t> positions = order.positions(stream);
  const auto is_done = [&](uint32_t position) {
    return std::ranges::all_of(buffer.live, [&](const LiveRange& range) {
      return order.last_done(range.stream, position) >= int64_t{range.last};
    });
  };
  const auto first = std::ranges::partition_point(
      positions, [&](uint32_t position) { return !is_done(position); });
  if (first != positions.end()) return *first;
  return positions.empty() ? 0 : int64_t{positions.back()} + 1;
}

Error too_large(const Graph& graph, uint64_t bytes, int64_t at) {
  const Node& node = *tasks_of(graph)[static_cast<size_t>(at)];
  return make_error(ErrorCode::kLimit,
                    "{}: the values that are needed while it runs take {} bytes of memory, a "
                    "model may have {}",
                    node.label(), bytes, kOmArenaLimit)
      .with_hint(
          "make the inputs smaller (--input-shape, --dim), or leave dims open: --dim "
          "NAME=LOW..HIGH");
}

class ArenaPlanner {
 public:
  explicit ArenaPlanner(Graph& graph) : graph_(graph), order_(graph) {}

  Result<void> run() {
    if (!find_buffers() || buffers_.empty()) return {};
    const LivePeak live = live_peak(buffers_);
    const OffsetPlan offsets =
        live.bytes > kOmArenaLimit ? OffsetPlan{{}, live.bytes, 0} : plan_offsets(buffers_);
    add_work(Work::kBufferPairs, offsets.pairs);
    if (offsets.arena_bytes > kOmArenaLimit) {
      return graph_.shapes == ShapeClass::kSymbolic
                 ? Result<void>()
                 : too_large(graph_, offsets.arena_bytes, live.task);
    }
    for (size_t i = 0; i < buffers_.size(); ++i)
      graph_.buffers[ids_[i]].offset = Dim::fixed(static_cast<int64_t>(offsets.offsets[i]));
    return {};
  }

 private:
  // Returns false when a size has no maximum.
  bool find_buffers() {
    for (size_t id = 0; id < graph_.buffers.size(); ++id) {
      const MemoryBuffer& buffer = graph_.buffers[id];
      if (buffer.memory != MemoryClass::kArena) continue;
      if (!max_bytes(graph_.module(), buffer.bytes)) return false;
      ids_.push_back(id);
      buffers_.push_back(arena_buffer(buffer, order_, arena_bytes_of(graph_.module(), buffer)));
    }
    add_work(Work::kBuffers, buffers_.size());
    return true;
  }

  Graph& graph_;
  HappensBefore order_;
  std::vector<Buffer> buffers_;
  std::vector<size_t> ids_;  // of the graph's buffers
};

}  // namespace

uint64_t arena_bytes_of(const Module& module, const MemoryBuffer& buffer) {
  const uint64_t bytes = max_bytes(module, buffer.bytes).value_or(0);
  return (bytes + kValueAlignment - 1) / kValueAlignment * kValueAlignment;
}

Buffer arena_buffer(const MemoryBuffer& buffer, const HappensBefore& order, uint64_t bytes) {
  Buffer found{INT64_MAX, 0, bytes, 0};
  for (const LiveRange& range : buffer.live) {
    found.first = std::min<int64_t>(found.first, range.first);
    found.last = std::max<int64_t>(found.last, range.last);
  }
  for (uint32_t stream = 0; stream < order.stream_count() && order.stream_count() > 1; ++stream)
    found.last = std::max(found.last, free_from(buffer, order, stream) - 1);
  return found;
}

Result<bool> plan_memory(Graph& root, const Options&) {
  for (Graph* graph : scheduled_graphs(root)) {
    SLUICE_TRY(check_streams(*graph));
    SLUICE_TRY(ArenaPlanner(*graph).run());
  }
  return true;
}

}  // namespace sluice
