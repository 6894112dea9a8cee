// An index of buffers by time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/omfile/buffer.h"

namespace sluice {

// A buffer is in the O(log T) nodes of a segment tree that cover its life, and at its first task;
// buffers live together with [first, last] are those live at `first` and those that begin in
// (first, last].
class AliveIndex {
 public:
  explicit AliveIndex(int64_t tasks);

  void insert(const Buffer& buffer, uint32_t id);
  // Appends the ids of the buffers that are live together with this one.
  void find(const Buffer& buffer, std::vector<uint32_t>& found) const;

 private:
  void find_beginning(int64_t node, int64_t from, int64_t to, int64_t low, int64_t high,
                      std::vector<uint32_t>& found) const;

  int64_t leaves_ = 1;
  std::vector<std::vector<uint32_t>> tree_;
  std::vector<uint32_t> begins_;
  std::vector<std::vector<uint32_t>> beginning_;
};

}  // namespace sluice
