#include "stages/build/memory/live_peak.h"

#include <algorithm>
#include <tuple>

namespace sluice {
namespace {

// Bytes that begin or end to be live; at one task, ends come first.
struct Change {
  int64_t task;
  bool begins;
  uint64_t bytes;
};

}  // namespace

LivePeak live_peak(const std::vector<Buffer>& buffers) {
  std::vector<Change> changes;
  changes.reserve(2 * buffers.size());
  for (const Buffer& buffer : buffers) {
    changes.push_back({buffer.first, true, buffer.bytes});
    changes.push_back({buffer.last + 1, false, buffer.bytes});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tie(a.task, a.begins) < std::tie(b.task, b.begins);
  });
  __int128 live = 0, maximum = 0;  // sums of sizes need more than 64 bits
  LivePeak peak;
  for (const Change& change : changes) {
    live += change.begins ? __int128{change.bytes} : -__int128{change.bytes};
    if (live <= maximum) continue;
    maximum = live;
    peak = {static_cast<uint64_t>(std::min<__int128>(maximum, UINT64_MAX)), change.task};
  }
  return peak;
}

}  // namespace sluice
