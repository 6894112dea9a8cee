#include "stages/build/memory/planners/offset_bounds.h"

#include <algorithm>
#include <utility>

#include "stages/build/memory/planners/dense_tasks.h"

namespace sluice {
namespace {

size_t begin_of(const Buffer& buffer) { return static_cast<size_t>(buffer.first); }
size_t end_of(const Buffer& buffer) { return static_cast<size_t>(buffer.last) + 1; }

}  // namespace

OffsetBounds::OffsetBounds(std::vector<Buffer> buffers)
    : buffers_(std::move(buffers)),
      tasks_(static_cast<size_t>(sluice::task_count(buffers_))),
      bounds_(tasks_.size()),
      lowest_(buffers_.size()),
      is_flat_(buffers_.size()) {}

void OffsetBounds::clear(uint64_t capacity) {
  if (capacity != capacity_) failures_.assign(tasks_.size(), 1);
  capacity_ = capacity;
  changes_.clear();
  tasks_.assign(tasks_.size(), {0, 0, capacity, kNone});
  for (const Buffer& buffer : buffers_) {
    for (size_t task = begin_of(buffer); task < end_of(buffer); ++task)
      tasks_[task].highest -= buffer.bytes;
  }
}

void OffsetBounds::put(uint32_t id) {
  const Buffer& buffer = buffers_[id];
  for (size_t i = begin_of(buffer); i < end_of(buffer); ++i) {
    Task& task = tasks_[i];
    changes_.emplace_back(i, task);
    task.floor = task.top = task.floor + buffer.bytes;
    task.highest += buffer.bytes;
    task.top_id = id;
  }
}

void OffsetBounds::raise_floor(size_t task, uint64_t floor) {
  changes_.emplace_back(task, tasks_[task]);
  tasks_[task].floor = floor;
}

void OffsetBounds::undo(size_t mark) {
  for (; changes_.size() > mark; changes_.pop_back())
    tasks_[changes_.back().first] = changes_.back().second;
}

uint64_t OffsetBounds::lowest_end_below(uint32_t id) const {
  uint64_t end = UINT64_MAX;
  for (size_t task = begin_of(buffers_[id]); task < end_of(buffers_[id]); ++task)
    end = std::min(end, lowest_end(task, id));
  return end;
}

bool OffsetBounds::tighten(const BufferGroup& group, uint64_t& passes) {
  for (const uint32_t id : group.ids) lowest_[id] = 0;
  for (size_t task = group.begin; task < group.end; ++task) bounds_[task] = {0, 0, kNone, 0, 0};
  do {
    passes += 2;
    for (const uint32_t id : group.ids) {
      if (!raise_lowest(id)) return false;
    }
    if (!sum_up(group)) return false;
  } while (raise_floors(group));
  return true;
}

// A buffer lies on a placed one, or on one that is to be placed: in the placement of the smallest
// sum of bytes times offsets. Where the floor of a task cannot rise to it, another buffer lies
// below it. Returns false when it could be moved below its floors.
bool OffsetBounds::raise_lowest(uint32_t id) {
  const Buffer& buffer = buffers_[id];
  uint64_t low = UINT64_MAX, high = 0, top = 0, highest = UINT64_MAX;
  for (size_t i = begin_of(buffer); i < end_of(buffer); ++i) {
    low = std::min(low, tasks_[i].floor);
    high = std::max(high, tasks_[i].floor);
    top = std::max(top, tasks_[i].top);
    highest = std::min(highest, tasks_[i].highest);
  }
  if (low >= top && low - top >= buffer.bytes) return false;
  uint64_t lowest = std::max(high, lowest_[id]);
  if (top < lowest) lowest = std::max(lowest, lowest_end_below(id));
  if (lowest > highest) {
    for (size_t i = begin_of(buffer); i < end_of(buffer); ++i) {
      if (lowest > tasks_[i].highest) lowest = std::max(lowest, lowest_end(i, id));
    }
  }
  lowest_[id] = lowest;
  is_flat_[id] = lowest == low;
  return true;
}

// At each task, buffers that cannot be below an offset must fit above it, for each such offset: one
// after the other from the highest lowest offset on, as jobs with release times on one machine.
bool OffsetBounds::sum_up(const BufferGroup& group) {
  by_lowest_.clear();
  for (const uint32_t id : group.ids) by_lowest_.emplace_back(lowest_[id], id);
  std::sort(by_lowest_.begin(), by_lowest_.end());
  for (size_t task = group.begin; task < group.end; ++task)
    bounds_[task] = {UINT64_MAX, UINT64_MAX, kNone, UINT64_MAX, 0};
  return std::all_of(by_lowest_.rbegin(), by_lowest_.rend(),
                     [&](const auto& entry) { return add(entry.second); });
}

bool OffsetBounds::add(uint32_t id) {
  const Buffer& buffer = buffers_[id];
  const uint64_t lowest = lowest_[id], available = capacity_ - std::min(capacity_, lowest);
  for (size_t task = begin_of(buffer); task < end_of(buffer); ++task) {
    Bounds& bounds = bounds_[task];
    bounds.sum += buffer.bytes;
    if (bounds.sum > available) {
      ++failures_[task];
      return false;
    }
    bounds.next = lowest;
    const uint64_t end = lowest + buffer.bytes;
    if (end < bounds.end) {
      bounds.second_end = std::exchange(bounds.end, end);
      bounds.end_id = id;
    } else {
      bounds.second_end = std::min(bounds.second_end, end);
    }
  }
  return true;
}

// Nothing comes below the lowest offset of those to be placed. Returns whether a floor rises.
bool OffsetBounds::raise_floors(const BufferGroup& group) {
  bool has_risen = false;
  for (size_t task = group.begin; task < group.end; ++task) {
    const uint64_t next = bounds_[task].next;
    if (next == UINT64_MAX || next <= tasks_[task].floor) continue;
    raise_floor(task, next);
    has_risen = true;
  }
  return has_risen;
}

}  // namespace sluice
