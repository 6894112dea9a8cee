#include "stages/build/memory/planners/alive_index.h"

namespace sluice {

AliveIndex::AliveIndex(int64_t tasks) : beginning_(static_cast<size_t>(tasks)) {
  while (leaves_ < tasks) leaves_ *= 2;
  tree_.resize(static_cast<size_t>(2 * leaves_));
  begins_.resize(static_cast<size_t>(2 * leaves_), 0);
}

void AliveIndex::insert(const Buffer& buffer, uint32_t id) {
  beginning_[static_cast<size_t>(buffer.first)].push_back(id);
  for (int64_t node = buffer.first + leaves_; node > 0; node /= 2)
    ++begins_[static_cast<size_t>(node)];
  int64_t low = buffer.first + leaves_, high = buffer.last + leaves_ + 1;
  for (; low < high; low /= 2, high /= 2) {
    if (low % 2 == 1) tree_[static_cast<size_t>(low++)].push_back(id);
    if (high % 2 == 1) tree_[static_cast<size_t>(--high)].push_back(id);
  }
}

void AliveIndex::find(const Buffer& buffer, std::vector<uint32_t>& found) const {
  for (int64_t node = buffer.first + leaves_; node > 0; node /= 2) {
    const std::vector<uint32_t>& ids = tree_[static_cast<size_t>(node)];
    found.insert(found.end(), ids.begin(), ids.end());
  }
  find_beginning(1, 0, leaves_, buffer.first + 1, buffer.last + 1, found);
}

// Finds the buffers that begin in [low, high), skipping empty subtrees.
void AliveIndex::find_beginning(int64_t node, int64_t from, int64_t to, int64_t low, int64_t high,
                                std::vector<uint32_t>& found) const {
  if (from >= high || to <= low || begins_[static_cast<size_t>(node)] == 0) return;
  if (to - from == 1) {
    const std::vector<uint32_t>& ids = beginning_[static_cast<size_t>(from)];
    found.insert(found.end(), ids.begin(), ids.end());
    return;
  }
  const int64_t middle = (from + to) / 2;
  find_beginning(2 * node, from, middle, low, high, found);
  find_beginning(2 * node + 1, middle, to, low, high, found);
}

}  // namespace sluice
