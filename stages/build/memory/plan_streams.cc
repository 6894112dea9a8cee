#include "stages/build/memory/plan_streams.h"

#include <algorithm>
#include <numeric>

#include "stages/build/memory/planners/gaps.h"

namespace sluice {
namespace {

// Returns whether each task that needs `a` is done before each task that first needs `b`.
bool is_free_before(const MemoryBuffer& a, const MemoryBuffer& b, const HappensBefore& order) {
  return std::ranges::all_of(a.live, [&](const LiveRange& used) {
    return std::ranges::all_of(
        b.live, [&](const LiveRange& needed) { return order.is_before(used.last, needed.first); });
  });
}

int64_t first_task(const MemoryBuffer& buffer) {
  int64_t first = INT64_MAX;
  for (const LiveRange& range : buffer.live) first = std::min<int64_t>(first, range.first);
  return first;
}

int64_t last_task(const MemoryBuffer& buffer) {
  int64_t last = -1;
  for (const LiveRange& range : buffer.live) last = std::max<int64_t>(last, range.last);
  return last;
}

// The pairs of buffers that may be live together, as bits.
class Conflicts {
 public:
  Conflicts(std::span<const StreamBuffer> buffers, const HappensBefore& order)
      : buffers_(buffers.size()),
        bits_(buffers.size() * buffers.size(), false),
        counts_(buffers.size(), 0) {
    std::vector<int64_t> first, last;
    for (const StreamBuffer& buffer : buffers) {
      first.push_back(first_task(*buffer.buffer));
      last.push_back(last_task(*buffer.buffer));
    }
    // A buffer can only be free before one whose first task has a later position.
    for (size_t a = 0; a < buffers_; ++a) {
      for (size_t b = 0; b < a; ++b) {
        const size_t earlier = first[a] < first[b] ? a : b, later = a + b - earlier;
        if (last[earlier] >= first[later] ||
            !is_free_before(*buffers[earlier].buffer, *buffers[later].buffer, order))
          add(a, b);
      }
    }
  }

  bool has(size_t a, size_t b) const { return bits_[a * buffers_ + b]; }
  uint64_t count(size_t a) const { return counts_[a]; }  // buffers that conflict with `a`

 private:
  void add(size_t a, size_t b) {
    bits_[a * buffers_ + b] = bits_[b * buffers_ + a] = true;
    ++counts_[a];
    ++counts_[b];
  }

  size_t buffers_;
  std::vector<bool> bits_;
  std::vector<uint64_t> counts_;
};

class StreamPlanner {
 public:
  StreamPlanner(std::span<const StreamBuffer> buffers, const HappensBefore& order)
      : buffers_(buffers), conflicts_(buffers, order), bound_(stream_peak(buffers).bytes) {
    best_.pairs = buffers.size() * buffers.size() / 2;
  }

  OffsetPlan run() {
    const auto bytes = [&](uint32_t id) { return static_cast<double>(buffers_[id].bytes); };
    const auto conflicts = [&](uint32_t id) { return static_cast<double>(conflicts_.count(id)); };
    attempt([&](uint32_t id) { return std::pair(-bytes(id), -conflicts(id)); });
    attempt([&](uint32_t id) { return std::pair(-bytes(id) * conflicts(id), 0.0); });
    attempt([&](uint32_t id) { return std::pair(-conflicts(id), -bytes(id)); });
    attempt([&](uint32_t id) {
      return std::pair(static_cast<double>(first_task(*buffers_[id].buffer)), -bytes(id));
    });
    return std::move(best_);
  }

 private:
  // Places the buffers in the order of their keys.
  template <typename Key>
  void attempt(const Key& key) {
    if (best_.arena_bytes <= bound_) return;
    std::vector<uint32_t> ids(buffers_.size());
    std::iota(ids.begin(), ids.end(), 0u);
    std::stable_sort(ids.begin(), ids.end(),
                     [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    OffsetPlan plan = place(ids);
    plan.pairs += best_.pairs;
    if (plan.arena_bytes >= best_.arena_bytes) {
      best_.pairs = plan.pairs;
    } else {
      best_ = std::move(plan);
    }
  }

  OffsetPlan place(const std::vector<uint32_t>& ids) const {
    OffsetPlan plan{std::vector<uint64_t>(buffers_.size(), 0), 0};
    std::vector<uint32_t> placed;  // by offset, so that the occupied ranges are sorted
    std::vector<std::pair<uint64_t, uint64_t>> occupied;
    for (const uint32_t id : ids) {
      const uint64_t bytes = buffers_[id].bytes;
      if (bytes == 0) continue;
      occupied.clear();
      for (const uint32_t other : placed) {
        if (conflicts_.has(id, other))
          occupied.emplace_back(plan.offsets[other], plan.offsets[other] + buffers_[other].bytes);
      }
      plan.pairs += placed.size();
      plan.offsets[id] = best_gap(occupied, bytes);
      plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[id] + bytes);
      placed.insert(std::ranges::upper_bound(placed, plan.offsets[id], {},
                                             [&](uint32_t other) { return plan.offsets[other]; }),
                    id);
    }
    return plan;
  }

  std::span<const StreamBuffer> buffers_;
  Conflicts conflicts_;
  uint64_t bound_;
  OffsetPlan best_;
};

}  // namespace

LivePeak stream_peak(std::span<const StreamBuffer> buffers) {
  std::vector<Buffer> ranges;
  for (const StreamBuffer& buffer : buffers) {
    if (!buffer.buffer->live.empty())
      ranges.push_back({first_task(*buffer.buffer), last_task(*buffer.buffer), buffer.bytes, 0});
  }
  return live_peak(ranges);
}

OffsetPlan plan_streams(std::span<const StreamBuffer> buffers, const HappensBefore& order) {
  return StreamPlanner(buffers, order).run();
}

}  // namespace sluice
