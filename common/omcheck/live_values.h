// A set of values of a part that answers which of them share bytes with others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/omcheck/footprint.h"

namespace sluice {

// At first empty. A segment tree over all values by region and first byte, whose nodes know the
// largest last byte among the values that are in the set (de Berg et al., Computational Geometry,
// 10: interval queries). add and remove: O(log values); find: O(log values) for each value in the
// set whose first to last byte meet those asked for, also where its rows do not.
class LiveValues {
 public:
  // footprints, by value, outlive this.
  explicit LiveValues(std::span<const Footprint> footprints);

  void add(uint32_t value) { set_end(value, footprints_[value].end()); }
  void remove(uint32_t value) { set_end(value, 0); }
  bool contains(uint32_t value) const { return ends_[leaves_ + position_[value]] != 0; }
  // Returns the values in the set that share a byte with a footprint, by first byte.
  std::vector<uint32_t> find(const Footprint& footprint) const;

 private:
  void set_end(uint32_t value, uint64_t end);
  struct Query {
    const Footprint& footprint;
    size_t first, limit;  // of order_: the values of its region that begin before its end
    std::vector<uint32_t> found;
  };
  void find_below(size_t node, size_t first, size_t count, Query& query) const;

  std::span<const Footprint> footprints_;
  std::vector<uint32_t> order_;     // values by region and first byte
  std::vector<uint32_t> position_;  // by value, in order_
  size_t leaves_ = 1;
  std::vector<uint64_t> ends_;  // the tree; node i has the children 2 i and 2 i + 1
};

}  // namespace sluice
