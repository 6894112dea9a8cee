#include "common/omfile/place_buffers.h"

#include <algorithm>
#include <numeric>

#include "common/omfile/holes.h"

namespace sluice {
namespace {

// An arena that grows.
class Arena {
 public:
  uint64_t take(uint64_t bytes) {
    const auto fit = holes_.by_size().lower_bound({bytes, 0});
    if (fit == holes_.by_size().end()) return grow(bytes);
    const uint64_t offset = fit->second;
    holes_.take(*fit, offset, bytes);
    return offset;
  }
  void give(uint64_t offset, uint64_t bytes) { holes_.give(offset, bytes); }
  uint64_t end() const { return end_; }

 private:
  // A hole at its end is used up first.
  uint64_t grow(uint64_t bytes) {
    const Holes::Hole last = holes_.ending_at(end_);
    if (last.first > 0) holes_.take(last, last.second, last.first);
    end_ = last.second + bytes;
    return last.second;
  }

  Holes holes_;  // below its end
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
  Arena arena;
  size_t ended = 0;
  for (const uint32_t start : starts) {
    for (; buffers[ends[ended]].last < buffers[start].first; ++ended) {
      const Buffer& buffer = buffers[ends[ended]];
      if (buffer.bytes > 0) arena.give(buffer.offset, buffer.bytes);
    }
    buffers[start].offset = buffers[start].bytes == 0 ? 0 : arena.take(buffers[start].bytes);
  }
  return arena.end();
}

}  // namespace sluice
