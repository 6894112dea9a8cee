#include "stages/build/memory/planners/dense_tasks.h"

#include <algorithm>

namespace sluice {
namespace {

// Renumbers tasks by their place among those kept, which are ascending: lives begin at the first
// kept task at or after their first, and end at the last at or before their last.
std::vector<Buffer> renumbered(std::vector<Buffer> buffers, const std::vector<int64_t>& kept) {
  for (Buffer& buffer : buffers) {
    buffer.first = std::lower_bound(kept.begin(), kept.end(), buffer.first) - kept.begin();
    buffer.last = std::upper_bound(kept.begin(), kept.end(), buffer.last) - kept.begin() - 1;
  }
  return buffers;
}

std::vector<int64_t> sorted_once(std::vector<int64_t> tasks) {
  std::sort(tasks.begin(), tasks.end());
  tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
  return tasks;
}

}  // namespace

std::vector<Buffer> with_dense_tasks(std::vector<Buffer> buffers) {
  std::vector<int64_t> begins;
  begins.reserve(buffers.size());
  for (const Buffer& buffer : buffers) begins.push_back(buffer.first);
  return renumbered(std::move(buffers), sorted_once(std::move(begins)));
}

std::vector<Buffer> with_full_tasks(std::vector<Buffer> buffers) {
  std::vector<int64_t> ends;
  ends.reserve(buffers.size());
  for (const Buffer& buffer : buffers) ends.push_back(buffer.last);
  return renumbered(std::move(buffers), sorted_once(std::move(ends)));
}

int64_t task_count(const std::vector<Buffer>& buffers) {
  int64_t tasks = 0;
  for (const Buffer& buffer : buffers) tasks = std::max(tasks, buffer.last + 1);
  return tasks;
}

}  // namespace sluice
