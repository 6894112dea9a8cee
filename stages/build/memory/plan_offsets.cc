#include "stages/build/memory/plan_offsets.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace sluice {
namespace {

constexpr size_t kClimbRounds = 2000;
constexpr size_t kClimbWork = 100'000'000;

// An index of placed buffers by time. A buffer is in the O(log T) nodes of a segment tree that
// cover its life, and at its first task; buffers live together with [first, last] are those live at
// `first` and those that begin in (first, last].
class AliveIndex {
 public:
  explicit AliveIndex(int64_t tasks) : beginning_(static_cast<size_t>(tasks)) {
    while (leaves_ < tasks) leaves_ *= 2;
    tree_.resize(static_cast<size_t>(2 * leaves_));
    begins_.resize(static_cast<size_t>(2 * leaves_), 0);
  }

  void insert(const Buffer& buffer, uint32_t id) {
    beginning_[static_cast<size_t>(buffer.first)].push_back(id);
    for (int64_t node = buffer.first + leaves_; node > 0; node /= 2)
      ++begins_[static_cast<size_t>(node)];
    int64_t low = buffer.first + leaves_, high = buffer.last + leaves_ + 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) tree_[static_cast<size_t>(low++)].push_back(id);
      if (high % 2 == 1) tree_[static_cast<size_t>(--high)].push_back(id);
    }
  }

  void find(const Buffer& buffer, std::vector<uint32_t>& found) const {
    for (int64_t node = buffer.first + leaves_; node > 0; node /= 2) {
      const std::vector<uint32_t>& ids = tree_[static_cast<size_t>(node)];
      found.insert(found.end(), ids.begin(), ids.end());
    }
    find_beginning(1, 0, leaves_, buffer.first + 1, buffer.last + 1, found);
  }

 private:
  // Finds the buffers that begin in [low, high), skipping empty subtrees.
  void find_beginning(int64_t node, int64_t from, int64_t to, int64_t low, int64_t high,
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

  int64_t leaves_ = 1;
  std::vector<std::vector<uint32_t>> tree_;
  std::vector<uint32_t> begins_;
  std::vector<std::vector<uint32_t>> beginning_;
};

// Returns the smallest gap that fits between the occupied ranges, or the end of the last range.
uint64_t best_gap(std::vector<std::pair<uint64_t, uint64_t>>& occupied, uint64_t bytes) {
  std::sort(occupied.begin(), occupied.end());
  uint64_t end = 0, best = UINT64_MAX, best_offset = 0;
  for (const auto& [begin, behind] : occupied) {
    if (begin >= end + bytes && begin - end < best) {
      best = begin - end;
      best_offset = end;
    }
    end = std::max(end, behind);
  }
  return best == UINT64_MAX ? end : best_offset;
}

OffsetPlan place_in_order(const std::vector<Buffer>& buffers, const std::vector<uint32_t>& order,
                          int64_t tasks, uint64_t& pairs) {
  OffsetPlan plan;
  plan.offsets.resize(buffers.size());
  AliveIndex alive(tasks);
  std::vector<uint32_t> neighbours;
  std::vector<std::pair<uint64_t, uint64_t>> occupied;
  for (const uint32_t id : order) {
    const Buffer& buffer = buffers[id];
    if (buffer.bytes == 0) continue;
    neighbours.clear();
    occupied.clear();
    alive.find(buffer, neighbours);
    for (const uint32_t other : neighbours)
      occupied.emplace_back(plan.offsets[other], plan.offsets[other] + buffers[other].bytes);
    pairs += neighbours.size();
    plan.offsets[id] = best_gap(occupied, buffer.bytes);
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[id] + buffer.bytes);
    alive.insert(buffer, id);
  }
  return plan;
}

// Improves an order while it can: a buffer that ends highest is placed earlier (halfway to the
// front, then first), and the change is kept when the arena does not grow. Stops at the bound or
// when the work, in pairs of buffers, is used up.
void climb(const std::vector<Buffer>& buffers, std::vector<uint32_t> order, int64_t tasks,
           uint64_t bound, OffsetPlan& best, uint64_t& pairs) {
  OffsetPlan plan = place_in_order(buffers, order, tasks, pairs);
  std::mt19937 random(1);  // its numbers are the same everywhere
  const auto rounds = static_cast<int>(std::min<size_t>(
      kClimbRounds, kClimbWork / std::max<size_t>(1, buffers.size() * buffers.size())));
  for (int round = 0; round < rounds && best.arena_bytes > bound; ++round) {
    std::vector<size_t> highest;  // positions in the order
    for (size_t i = 0; i < order.size(); ++i) {
      if (plan.offsets[order[i]] + buffers[order[i]].bytes == plan.arena_bytes)
        highest.push_back(i);
    }
    std::vector<uint32_t> next = order;
    const size_t from = highest[random() % highest.size()], to = from == 0 ? 0 : random() % from;
    std::rotate(next.begin() + static_cast<int64_t>(to), next.begin() + static_cast<int64_t>(from),
                next.begin() + static_cast<int64_t>(from) + 1);
    if (from == 0 || round % 4 == 3)
      std::swap(next[random() % next.size()], next[random() % next.size()]);
    OffsetPlan changed = place_in_order(buffers, next, tasks, pairs);
    if (changed.arena_bytes > plan.arena_bytes) continue;
    order = std::move(next);
    plan = std::move(changed);
    if (plan.arena_bytes < best.arena_bytes) best = plan;
  }
}

// Renumbers tasks densely. Two buffers are live together exactly when one begins while the other is
// live, so only tasks in which buffers begin matter.
std::vector<Buffer> with_dense_tasks(std::vector<Buffer> buffers) {
  std::vector<int64_t> begins;
  for (const Buffer& buffer : buffers) begins.push_back(buffer.first);
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  for (Buffer& buffer : buffers) {
    buffer.first = std::lower_bound(begins.begin(), begins.end(), buffer.first) - begins.begin();
    buffer.last = std::upper_bound(begins.begin(), begins.end(), buffer.last) - begins.begin() - 1;
  }
  return buffers;
}

int64_t life(const Buffer& buffer) { return buffer.last - buffer.first + 1; }

}  // namespace

LivePeak live_peak(const std::vector<Buffer>& buffers) {
  int64_t tasks = 0;
  for (const Buffer& buffer : buffers) tasks = std::max(tasks, buffer.last + 2);
  // Sums of sizes need more than 64 bits.
  std::vector<__int128> change(static_cast<size_t>(tasks), 0);
  for (const Buffer& buffer : buffers) {
    change[static_cast<size_t>(buffer.first)] += buffer.bytes;
    change[static_cast<size_t>(buffer.last + 1)] -= buffer.bytes;
  }
  __int128 live = 0, maximum = 0;
  LivePeak peak;
  for (int64_t task = 0; task < tasks; ++task) {
    live += change[static_cast<size_t>(task)];
    if (live <= maximum) continue;
    maximum = live;
    peak = {static_cast<uint64_t>(std::min<__int128>(maximum, UINT64_MAX)), task};
  }
  return peak;
}

OffsetPlan plan_offsets(const std::vector<Buffer>& given) {
  const std::vector<Buffer> buffers = with_dense_tasks(given);
  int64_t tasks = 1;
  for (const Buffer& buffer : buffers) tasks = std::max(tasks, buffer.last + 1);
  const uint64_t bound = live_peak(buffers).bytes;
  std::vector<uint32_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  const auto area = [](const Buffer& b) {
    return static_cast<double>(b.bytes) * static_cast<double>(life(b));
  };
  using Less = bool (*)(const Buffer&, const Buffer&);
  const Less by_size = [](const Buffer& a, const Buffer& b) {
    return a.bytes > b.bytes || (a.bytes == b.bytes && life(a) > life(b));
  };
  const Less by_life = [](const Buffer& a, const Buffer& b) {
    return life(a) > life(b) || (life(a) == life(b) && a.bytes > b.bytes);
  };
  const Less by_time = [](const Buffer& a, const Buffer& b) {
    return a.first < b.first || (a.first == b.first && a.bytes > b.bytes);
  };
  uint64_t pairs = 0;
  OffsetPlan best;
  std::vector<uint32_t> best_order;
  best.arena_bytes = UINT64_MAX;
  const auto attempt = [&](const auto& less) {
    if (best.arena_bytes == bound) return;
    std::vector<uint32_t> sorted = order;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](uint32_t a, uint32_t b) { return less(buffers[a], buffers[b]); });
    OffsetPlan plan = place_in_order(buffers, sorted, tasks, pairs);
    if (plan.arena_bytes >= best.arena_bytes) return;
    best = std::move(plan);
    best_order = std::move(sorted);
  };
  attempt(by_size);
  attempt([&](const Buffer& a, const Buffer& b) { return area(a) > area(b); });
  attempt(by_life);
  attempt(by_time);
  if (best.arena_bytes > bound) climb(buffers, best_order, tasks, bound, best, pairs);
  best.pairs = pairs;
  return best;
}

}  // namespace sluice
