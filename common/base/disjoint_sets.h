// Disjoint sets of numbers, by union and find with path halving (R. E. Tarjan and J. van Leeuwen,
// "Worst-case analysis of set union algorithms", JACM 31, 1984). Sets can be united but not split.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace sluice {

class DisjointSets {
 public:
  explicit DisjointSets(size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int32_t find(int32_t x) {
    while (parent_[static_cast<size_t>(x)] != x)
      x = parent_[static_cast<size_t>(x)] =
          parent_[static_cast<size_t>(parent_[static_cast<size_t>(x)])];
    return x;
  }
  // Unites two sets and returns the representative: the smaller id, so that results do not depend
  // on the order of unions.
  int32_t unite(int32_t a, int32_t b) {
    a = find(a), b = find(b);
    return parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

 private:
  std::vector<int32_t> parent_;
};

}  // namespace sluice
