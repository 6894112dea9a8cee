#include "common/omcheck/live_values.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace sluice {

LiveValues::LiveValues(std::span<const Footprint> footprints)
    : footprints_(footprints), order_(footprints.size()), position_(footprints.size()) {
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::sort(order_, {}, [&](uint32_t value) {
    return std::tuple(footprints_[value].region, footprints_[value].begin, value);
  });
  for (uint32_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  while (leaves_ < order_.size()) leaves_ *= 2;
  ends_.assign(2 * leaves_, 0);
}

void LiveValues::set_end(uint32_t value, uint64_t end) {
  size_t node = leaves_ + position_[value];
  ends_[node] = end;
  for (node /= 2; node > 0; node /= 2) ends_[node] = std::max(ends_[2 * node], ends_[2 * node + 1]);
}

// Visits the leaves [first, first + count), which are those below a node.
void LiveValues::find_below(size_t node, size_t first, size_t count, Query& query) const {
  const bool is_outside = first >= query.limit || first + count <= query.first;
  if (is_outside || ends_[node] <= query.footprint.begin) return;
  if (count > 1) {
    find_below(2 * node, first, count / 2, query);
    find_below(2 * node + 1, first + count / 2, count / 2, query);
  } else if (overlap(footprints_[order_[first]], query.footprint)) {
    query.found.push_back(order_[first]);
  }
}

std::vector<uint32_t> LiveValues::find(const Footprint& footprint) const {
  if (footprint.is_empty()) return {};
  const auto values_before = [&](uint64_t byte) {
    return static_cast<size_t>(
        std::ranges::partition_point(order_,
                                     [&](uint32_t value) {
                                       const Footprint& own = footprints_[value];
                                       return std::tuple(own.region, own.begin) <
                                              std::tuple(footprint.region, byte);
                                     }) -
        order_.begin());
  };
  Query query{footprint, values_before(0), values_before(footprint.end()), {}};
  find_below(1, 0, leaves_, query);
  return std::move(query.found);
}

}  // namespace sluice
