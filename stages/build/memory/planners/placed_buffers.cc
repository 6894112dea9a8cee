#include "stages/build/memory/planners/placed_buffers.h"

#include <algorithm>

#include "stages/build/memory/planners/dense_tasks.h"

namespace sluice {
namespace {

constexpr int64_t kMinSlab = 64;  // tasks

// Returns the tasks of a slab.
int64_t slab_tasks(const std::vector<Buffer>& buffers, int64_t tasks) {
  int64_t lives = 0;
  for (const Buffer& buffer : buffers) lives += buffer.last - buffer.first + 1;
  const int64_t wanted = std::max(kMinSlab, 2 * lives / std::max<int64_t>(1, std::ssize(buffers)));
  const int64_t slabs = std::max<int64_t>(1, (tasks + wanted - 1) / wanted);
  return (tasks + slabs - 1) / slabs;
}

// Joins two lists of ranges.
std::vector<Runs::Range> join(const std::vector<Runs::Range>& a, const std::vector<Runs::Range>& b,
                              uint64_t min_gap) {
  Runs joined(min_gap);
  auto next = b.begin();
  for (const auto& [begin, end] : a) {
    for (; next != b.end() && next->first < begin; ++next) joined.add(next->first, next->second);
    joined.add(begin, end);
  }
  for (; next != b.end(); ++next) joined.add(next->first, next->second);
  return joined.take();
}

}  // namespace

PlacedBuffers::PlacedBuffers(const std::vector<Buffer>& buffers) {
  const int64_t tasks = task_count(buffers);
  slab_tasks_ = slab_tasks(buffers, tasks);
  for (int64_t begin = 0; begin < tasks; begin += slab_tasks_) {
    const int64_t end = std::min(begin + slab_tasks_, tasks);
    slabs_.emplace_back(static_cast<int32_t>(begin), static_cast<int32_t>(end - 1));
  }
}

void PlacedBuffers::add(const Buffer& buffer, uint64_t offset) {
  const PlacedBuffer placed = {static_cast<int32_t>(buffer.first),
                               static_cast<int32_t>(buffer.last), offset, offset + buffer.bytes};
  for (TimeSlab& slab : slabs_of(buffer)) slab.add(placed);
}

std::vector<Runs::Range> PlacedBuffers::find(const Buffer& buffer) {
  std::vector<Runs::Range> found;
  for (TimeSlab& slab : slabs_of(buffer)) {
    Runs runs(buffer.bytes);
    visits_ +=
        slab.find(static_cast<int32_t>(buffer.first), static_cast<int32_t>(buffer.last), runs);
    found = found.empty() ? runs.take() : join(found, runs.take(), buffer.bytes);
  }
  return found;
}

std::span<TimeSlab> PlacedBuffers::slabs_of(const Buffer& buffer) {
  const int64_t first = buffer.first / slab_tasks_, last = buffer.last / slab_tasks_;
  return std::span(slabs_).subspan(static_cast<size_t>(first),
                                   static_cast<size_t>(last - first + 1));
}

}  // namespace sluice
