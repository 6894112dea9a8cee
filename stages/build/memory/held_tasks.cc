#include "stages/build/memory/held_tasks.h"

#include <algorithm>

namespace sluice {
namespace {

// Returns the position from which on no task of the stream needs to wait for the buffer's tasks:
// all of them are done before. The stream's end when there is none. Only looked for after `held`:
// an earlier one may be returned as held + 1.
int64_t free_from(const MemoryBuffer& buffer, const HappensBefore& order, uint32_t stream,
                  uint32_t held) {
  const std::span<const uint32_t> positions = order.positions(stream);
  const auto is_unaware = [&](uint32_t position) {
    return std::ranges::any_of(buffer.live, [&](const LiveRange& range) {
      return order.last_done(range.stream, position) < int64_t{range.last};
    });
  };
  auto next = std::ranges::upper_bound(positions, held);
  if (next != positions.begin() && !is_unaware(*(next - 1))) return int64_t{held} + 1;
  next = std::partition_point(next, positions.end(), is_unaware);
  return next != positions.end() ? int64_t{*next} : int64_t{positions.back()} + 1;
}

}  // namespace

TaskRange held_tasks(const MemoryBuffer& buffer, const HappensBefore& order) {
  TaskRange held = hull_of(buffer.live);
  if (buffer.live.empty() || order.stream_count() < 2) return held;
  for (const uint32_t stream : order.by_end()) {
    if (order.positions(stream).back() <= held.last) break;  // and so do all that end before it
    const int64_t last = free_from(buffer, order, stream, held.last) - 1;
    held.last = static_cast<uint32_t>(std::max<int64_t>(held.last, last));
  }
  return held;
}

}  // namespace sluice
