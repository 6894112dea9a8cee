// The free ranges of an arena, for placing buffers while time goes on.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace sluice {

// Ranges that are free, none of which touches another one.
class Holes {
 public:
  using Hole = std::pair<uint64_t, uint64_t>;  // bytes and offset

  // Returns the holes, the smallest first, of equal ones that of the lowest offset.
  const std::set<Hole>& by_size() const { return by_size_; }

  // Returns the hole that ends there; one of no bytes when none does.
  Hole ending_at(uint64_t end) const {
    const auto after = by_offset_.lower_bound(end);
    if (after == by_offset_.begin()) return {0, end};
    const auto [offset, bytes] = *std::prev(after);
    return offset + bytes == end ? Hole(bytes, offset) : Hole(0, end);
  }

  // Adds a range that is free now; it joins its neighbours.
  void give(uint64_t offset, uint64_t bytes) {
    if (const auto after = by_offset_.find(offset + bytes); after != by_offset_.end()) {
      bytes += after->second;
      erase({after->second, after->first});
    }
    if (const Hole before = ending_at(offset); before.first > 0) {
      bytes += before.first;
      offset = before.second;
      erase(before);
    }
    insert({bytes, offset});
  }

  // Takes the range out of the hole that contains it.
  void take(Hole hole, uint64_t offset, uint64_t bytes) {
    erase(hole);
    if (offset > hole.second) insert({offset - hole.second, hole.second});
    const uint64_t end = offset + bytes, after = hole.second + hole.first - end;
    if (after > 0) insert({after, end});
  }

 private:
  void insert(Hole hole) {
    by_offset_[hole.second] = hole.first;
    by_size_.insert(hole);
  }
  void erase(Hole hole) {
    by_size_.erase(hole);
    by_offset_.erase(hole.second);
  }

  std::map<uint64_t, uint64_t> by_offset_;  // bytes by offset
  std::set<Hole> by_size_;
};

}  // namespace sluice
