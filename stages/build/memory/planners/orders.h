// Orders in which buffers are placed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/omfile/buffer.h"

namespace sluice {

// Returns the buffers that have bytes, sorted; equal ones stay in their order.
template <typename Less>
std::vector<uint32_t> sorted_ids(const std::vector<Buffer>& buffers, const Less& less) {
  std::vector<uint32_t> ids;
  for (uint32_t id = 0; id < buffers.size(); ++id) {
    if (buffers[id].bytes > 0) ids.push_back(id);
  }
  std::ranges::stable_sort(ids,
                           [&](uint32_t a, uint32_t b) { return less(buffers[a], buffers[b]); });
  return ids;
}

// The order of time, the largest of a task first.
inline bool begins_before(const Buffer& a, const Buffer& b) {
  return a.first < b.first || (a.first == b.first && a.bytes > b.bytes);
}

}  // namespace sluice
