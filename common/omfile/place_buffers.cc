#include "common/omfile/place_buffers.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace sluice {
namespace {

// The free ranges below the end of the arena.
class Holes {
 public:
  uint64_t take(uint64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) return grow(bytes);
    const auto [size, offset] = *fit;
    erase(offset, size);
    if (size > bytes) insert(offset + bytes, size - bytes);
    return offset;
  }

  void give(uint64_t offset, uint64_t bytes) {
    const auto after = by_offset_.find(offset + bytes);
    if (after != by_offset_.end()) {
      bytes += after->second;
      erase(after->first, after->second);
    }
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == offset) {
        erase(before, size);
        offset = before;
        bytes += size;
      }
    }
    insert(offset, bytes);
  }

  uint64_t end() const { return end_; }

 private:
  // Extends the arena. A hole at its end is used up first.
  uint64_t grow(uint64_t bytes) {
    uint64_t offset = end_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        offset = last;
        erase(last, size);
      }
    }
    end_ = offset + bytes;
    return offset;
  }
  void insert(uint64_t offset, uint64_t size) {
    by_offset_[offset] = size;
    by_size_.insert({size, offset});
  }
  void erase(uint64_t offset, uint64_t size) {
    by_size_.erase({size, offset});
    by_offset_.erase(offset);
  }

  std::map<uint64_t, uint64_t> by_offset_;           // size by offset
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // size and offset
  uint64_t end_ = 0;
};

}  // namespace

uint64_t place_buffers(std::span<Buffer> buffers) {
  std::vector<uint32_t> starts(buffers.size());
  std::iota(starts.begin(), starts.end(), 0);
  std::vector<uint32_t> ends = starts;
  std::stable_sort(starts.begin(), starts.end(), [&](uint32_t a, uint32_t b) {
    return buffers[a].first != buffers[b].first ? buffers[a].first < buffers[b].first
                                                : buffers[a].bytes > buffers[b].bytes;
  });
  std::stable_sort(ends.begin(), ends.end(),
                   [&](uint32_t a, uint32_t b) { return buffers[a].last < buffers[b].last; });
  Holes holes;
  size_t ended = 0;
  for (const uint32_t start : starts) {
    for (; buffers[ends[ended]].last < buffers[start].first; ++ended) {
      const Buffer& buffer = buffers[ends[ended]];
      if (buffer.bytes > 0) holes.give(buffer.offset, buffer.bytes);
    }
    buffers[start].offset = buffers[start].bytes == 0 ? 0 : holes.take(buffers[start].bytes);
  }
  return holes.end();
}

}  // namespace sluice
