// Tensors seen as [outer, count, inner] around one axis or a run of axes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::eval {

inline int64_t product(std::span<const int64_t> dims) {
  int64_t size = 1;
  for (const int64_t dim : dims) size *= dim;
  return size;
}

inline std::vector<int64_t> to_vector(std::span<const int64_t> dims) { return {dims.begin(), dims.end()}; }

struct AxisSplit {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;

  AxisSplit(std::span<const int64_t> dims, int64_t axis)
      : outer(product(dims.first(static_cast<size_t>(axis)))),
        count(dims[static_cast<size_t>(axis)]),
        inner(product(dims.subspan(static_cast<size_t>(axis) + 1))) {}
};

}  // namespace sluice::eval
