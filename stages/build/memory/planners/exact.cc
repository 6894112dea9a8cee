// The exact planner: searches for placements below one capacity after the other, each in several
// orders of the buffers, which take turns with ever more visits: which order is quick differs from
// one instance to the next by orders of magnitude (C. P. Gomes, B. Selman, "Algorithm portfolios",
// Artificial Intelligence 126, 2001).
#include <algorithm>
#include <array>
#include <numeric>

#include "stages/build/memory/planners/capacity_search.h"
#include "stages/build/memory/planners/dense_tasks.h"
#include "stages/build/memory/planners/planners.h"

namespace sluice {
namespace {

constexpr size_t kMaxBuffers = 2048;
constexpr uint64_t kFirstVisits = 200'000;  // of an order's first turn
constexpr uint64_t kPrecision = 256;  // a search without an answer ends this close to the best

// What buffers are sorted by, each the largest first.
struct Figures {
  double life, area, bytes, end, begin;
  double fullest;     // the maximum of live bytes during its life
  double neighbours;  // the number of buffers that are live together with it
};
using Figure = double Figures::*;
struct Order {
  std::array<Figure, 3> figures;
  bool prefers_low;  // tasks, of whose buffers the first in the order is tried
};

constexpr Order kOrders[] = {
    {{&Figures::life, &Figures::area, &Figures::fullest}, false},
    {{&Figures::fullest, &Figures::area, &Figures::life}, true},
    {{&Figures::fullest, &Figures::life, &Figures::area}, false},
    {{&Figures::neighbours, &Figures::area, &Figures::life}, true},
    {{&Figures::begin, &Figures::area, &Figures::life}, false},
    {{&Figures::end, &Figures::area, &Figures::life}, true},
    {{&Figures::area, &Figures::life, &Figures::fullest}, false},
    {{&Figures::bytes, &Figures::life, &Figures::fullest}, true},
};

std::vector<Figures> figures_of(const std::vector<Buffer>& buffers) {
  std::vector<double> live(static_cast<size_t>(task_count(buffers)), 0);
  for (const Buffer& buffer : buffers) {
    for (int64_t task = buffer.first; task <= buffer.last; ++task)
      live[static_cast<size_t>(task)] += static_cast<double>(buffer.bytes);
  }
  std::vector<Figures> figures;
  for (const Buffer& buffer : buffers) {
    const auto bytes = static_cast<double>(buffer.bytes);
    const auto life = static_cast<double>(buffer.last - buffer.first + 1);
    const auto begin = live.begin() + buffer.first, end = live.begin() + buffer.last + 1;
    const auto neighbours = std::ranges::count_if(buffers, [&](const Buffer& other) {
      return other.first <= buffer.last && buffer.first <= other.last;
    });
    figures.push_back({life, life * bytes, bytes, static_cast<double>(buffer.last),
                       -static_cast<double>(buffer.first), *std::max_element(begin, end),
                       static_cast<double>(neighbours)});
  }
  return figures;
}

// A search in one order of the buffers.
struct OrderedSearch {
  std::vector<uint32_t> ids;  // in the order
  CapacitySearch search;
};

OrderedSearch ordered_search(const std::vector<Buffer>& buffers,
                             const std::vector<Figures>& figures, const Order& order) {
  std::vector<uint32_t> ids;
  for (uint32_t id = 0; id < buffers.size(); ++id) {
    if (buffers[id].bytes > 0) ids.push_back(id);
  }
  std::stable_sort(ids.begin(), ids.end(), [&](uint32_t a, uint32_t b) {
    for (const Figure figure : order.figures) {
      if (figures[a].*figure != figures[b].*figure) return figures[a].*figure > figures[b].*figure;
    }
    return false;
  });
  std::vector<Buffer> sorted;
  for (const uint32_t id : ids) sorted.push_back(buffers[id]);
  return {std::move(ids), CapacitySearch(sorted, order.prefers_low)};
}

// Offsets are sums of sizes, and so are arenas: multiples of this.
uint64_t common_divisor(const std::vector<Buffer>& buffers) {
  uint64_t divisor = 0;
  for (const Buffer& buffer : buffers) divisor = std::gcd(divisor, buffer.bytes);
  return std::max<uint64_t>(divisor, 1);
}

class ExactPlanner {
 public:
  using Outcome = CapacitySearch::Outcome;

  explicit ExactPlanner(const PlanRequest& request)
      : buffers_(with_full_tasks(request.buffers)),
        unit_(common_divisor(buffers_)),
        visits_left_(request.visits) {
    const std::vector<Figures> figures = figures_of(buffers_);
    for (const Order& order : kOrders)
      searches_.push_back(ordered_search(buffers_, figures, order));
  }

  // Tries `enough` with half of the visits; then halves what is between it and the best, with an
  // eighth of them each, until nothing is, or too little to go on without an answer.
  OffsetPlan run(uint64_t enough, uint64_t best) {
    const uint64_t all = visits_left_;
    uint64_t low = enough / unit_ * unit_, capacity = low, share = all / 2;
    while (low < best && best > enough && visits_left_ > 0) {
      const Outcome outcome = try_capacity(capacity, std::min(share, visits_left_));
      if (outcome == Outcome::kPlaced) {
        best = plan_.arena_bytes;
      } else {
        low = capacity + unit_;
      }
      if (outcome == Outcome::kImpossible) plan_.bound = low;
      if (outcome == Outcome::kStopped && best - low <= enough / kPrecision) break;
      capacity = low + (best - low) / 2 / unit_ * unit_;
      share = all / 8;
    }
    plan_.pairs = all - visits_left_;
    return std::move(plan_);
  }

 private:
  // Each order has a turn, then each a longer one.
  Outcome try_capacity(uint64_t capacity, uint64_t visits) {
    for (uint64_t turn = kFirstVisits; visits > 0; turn *= 2) {
      for (OrderedSearch& ordered : searches_) {
        const Outcome outcome = ordered.search.run(capacity, std::min(turn, visits));
        visits -= std::min(visits, ordered.search.visits());
        visits_left_ -= std::min(visits_left_, ordered.search.visits());
        if (outcome == Outcome::kPlaced) keep(ordered);
        if (outcome != Outcome::kStopped) return outcome;
        if (visits == 0) break;
      }
    }
    return Outcome::kStopped;
  }

  void keep(const OrderedSearch& ordered) {
    plan_.offsets.assign(buffers_.size(), 0);
    plan_.arena_bytes = 0;
    for (size_t i = 0; i < ordered.ids.size(); ++i) {
      const uint32_t id = ordered.ids[i];
      plan_.offsets[id] = ordered.search.offsets()[i];
      plan_.arena_bytes = std::max(plan_.arena_bytes, plan_.offsets[id] + buffers_[id].bytes);
    }
  }

  std::vector<Buffer> buffers_;
  uint64_t unit_;
  std::vector<OrderedSearch> searches_;
  uint64_t visits_left_;
  OffsetPlan plan_;
};

}  // namespace

OffsetPlan plan_exact(const PlanRequest& request) {
  if (request.buffers.size() > kMaxBuffers) return {};
  return ExactPlanner(request).run(request.enough, request.best_bytes);
}

}  // namespace sluice
