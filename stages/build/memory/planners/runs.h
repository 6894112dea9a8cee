// Runs of occupied bytes, among which a buffer looks for a gap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice {

// Joins ranges, which come in the order of their begins, where no gap of `min_gap` bytes is between
// them: a buffer of that size does not fit there.
class Runs {
 public:
  using Range = std::pair<uint64_t, uint64_t>;  // [begin, end)

  explicit Runs(uint64_t min_gap) : min_gap_(min_gap) {}

  // Returns whether what begins there belongs to the last run.
  bool reaches(uint64_t begin) const { return begin < end_ + min_gap_; }
  void extend(uint64_t end) { end_ = std::max(end_, end); }
  void begin_next(uint64_t begin) {
    close();
    begin_ = begin;
  }
  void add(uint64_t begin, uint64_t end) {
    if (!reaches(begin)) begin_next(begin);
    extend(end);
  }

  uint64_t min_gap() const { return min_gap_; }
  uint64_t end() const { return end_; }

  std::vector<Range> take() {
    close();
    return std::move(runs_);
  }

 private:
  void close() {
    if (end_ > begin_) runs_.emplace_back(begin_, end_);
  }

  uint64_t min_gap_;
  uint64_t begin_ = 0, end_ = 0;  // of the last run
  std::vector<Range> runs_;       // those before it
};

}  // namespace sluice
