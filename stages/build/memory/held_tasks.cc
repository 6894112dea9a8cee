#include "stages/build/memory/held_tasks.h"

#include <algorithm>

namespace sluice {
namespace {

// When streams know that tasks are done. One that does not know it of a task knows it of none that
// comes after it in its stream, so each change of what a stream knows is kept at one task.
class Knowledge {
 public:
  explicit Knowledge(const HappensBefore& order)
      : order_(order), first_(order.stream_count(), 0), next_(order.task_count(), 0) {
    for (uint32_t stream = 0; stream < order.stream_count(); ++stream)
      if (!order.positions(stream).empty()) find(stream);
  }

  // Returns for each task the last one before which some stream does not know of it.
  std::vector<uint32_t> unknown_until() const {
    std::vector<uint32_t> until(next_.size());
    for (uint32_t stream = 0; stream < order_.stream_count(); ++stream) {
      const std::span<const uint32_t> positions = order_.positions(stream);
      uint32_t known = first_[stream];
      for (size_t i = 0; i < positions.size(); ++i) {
        const uint32_t own = i + 1 < positions.size() ? positions[i + 1] : positions[i] + 1;
        until[positions[i]] = std::max(own, known) - 1;
        known = std::max(known, next_[positions[i]]);
      }
    }
    return until;
  }

 private:
  // Finds what a stream knows of the others.
  void find(uint32_t stream) {
    std::vector<int32_t> known(order_.stream_count(), -1);
    const int32_t* seen = nullptr;
    for (const uint32_t position : order_.positions(stream)) {
      const std::span<const int32_t> now = order_.known_by(position);
      if (now.data() == seen) continue;
      seen = now.data();
      for (uint32_t other = 0; other < now.size(); ++other) {
        if (now[other] <= known[other] || other == stream) continue;
        set_next(other, known[other], position);
        known[other] = now[other];
      }
    }
    const uint32_t end = order_.positions(stream).back() + 1;
    for (uint32_t other = 0; other < known.size(); ++other)
      if (other != stream) set_next(other, known[other], end);
  }

  // A task that comes after `task` in its stream is not known before `position`.
  void set_next(uint32_t stream, int32_t task, uint32_t position) {
    uint32_t& next = task < 0 ? first_[stream] : next_[static_cast<size_t>(task)];
    next = std::max(next, position);
  }

  const HappensBefore& order_;
  // The first task before which all streams know, or the one after the end of those that never do:
  std::vector<uint32_t> first_;  // by stream, of its first task
  std::vector<uint32_t> next_;   // by task, of the next one of its stream
};

}  // namespace

HeldTasks::HeldTasks(const HappensBefore& order) {
  if (order.stream_count() > 1) until_ = Knowledge(order).unknown_until();
}

TaskRange HeldTasks::of(const MemoryBuffer& buffer) const {
  TaskRange held = hull_of(buffer.live);
  if (until_.empty()) return held;
  for (const LiveRange& range : buffer.live) held.last = std::max(held.last, until_[range.last]);
  return held;
}

}  // namespace sluice
