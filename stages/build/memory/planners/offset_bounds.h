// Lower bounds of the offsets of buffers that are still to be placed above others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/omfile/buffer.h"

namespace sluice {

// Unplaced buffers that are connected in time.
struct BufferGroup {
  std::vector<uint32_t> ids;  // by their first task
  size_t begin = 0, end = 0;  // their tasks are [begin, end)
};

// Knows of each task how high it is filled, and bounds what may come next. A task has a floor,
// below which nothing more is placed, and a top, the end of the buffer placed there last, which is
// lower where bytes were given up.
class OffsetBounds {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit OffsetBounds(std::vector<Buffer> buffers);

  // Forgets what was placed.
  void clear(uint64_t capacity);
  // Places a buffer at the floor of its tasks, which is the same in all of them.
  void put(uint32_t id);
  // Gives up the bytes of a task below an offset.
  void raise_floor(size_t task, uint64_t floor);
  // Raises floors and lowest offsets of the group until none rises; false when its buffers cannot
  // be below the capacity, or one of them could be moved down into what was given up. Adds the
  // number of passes over the buffers. O(passes * sum of lives).
  bool tighten(const BufferGroup& group, uint64_t& passes);

  size_t mark() const { return changes_.size(); }
  void undo(size_t mark);  // what was put and raised since

  const std::vector<Buffer>& buffers() const { return buffers_; }
  size_t task_count() const { return tasks_.size(); }
  uint64_t floor(size_t task) const { return tasks_[task].floor; }
  uint64_t top(size_t task) const { return tasks_[task].top; }
  uint32_t top_id(size_t task) const { return tasks_[task].top_id; }
  // Whether what is still to be placed at the task fits above this floor.
  bool may_have_floor(size_t task, uint64_t floor) const { return floor <= tasks_[task].highest; }
  // How often tighten failed at the task since the search began.
  uint64_t failures(size_t task) const { return failures_[task]; }

  // As tighten found out:
  uint64_t lowest(uint32_t id) const { return lowest_[id]; }
  bool is_flat(uint32_t id) const { return is_flat_[id]; }  // all its floors are its lowest offset
  // Returns the lowest end of another buffer of the group at one of the tasks of this one.
  uint64_t lowest_end_below(uint32_t id) const;

 private:
  struct Task {
    uint64_t floor, top;
    uint64_t highest;  // floor for which what is to be placed fits
    uint32_t top_id;   // of the buffer placed there last, or kNone
  };
  struct Bounds {
    uint64_t end, second_end;  // the lowest ends of buffers to be placed
    uint32_t end_id;           // whose `end` is
    uint64_t next;             // the lowest offset of a buffer to be placed
    uint64_t sum;              // of the bytes of those that were looked at
  };

  uint64_t lowest_end(size_t task, uint32_t without) const {
    const Bounds& bounds = bounds_[task];
    return bounds.end_id == without ? bounds.second_end : bounds.end;
  }
  bool raise_lowest(uint32_t id);
  bool sum_up(const BufferGroup& group);
  bool add(uint32_t id);
  bool raise_floors(const BufferGroup& group);

  std::vector<Buffer> buffers_;
  uint64_t capacity_ = 0;
  std::vector<Task> tasks_;
  std::vector<std::pair<size_t, Task>> changes_;          // what tasks were before, in order
  std::vector<uint64_t> failures_;                        // by task, from 1 on
  std::vector<Bounds> bounds_;                            // by task
  std::vector<uint64_t> lowest_;                          // by buffer
  std::vector<bool> is_flat_;                             // by buffer
  std::vector<std::pair<uint64_t, uint32_t>> by_lowest_;  // of the group
};

}  // namespace sluice
