// Tensors seen as [outer, count, inner] around one axis or a run of axes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::eval {

// Saturating arithmetic on sizes: output() rejects a size beyond int64.
inline int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}
inline int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? ((a < 0) != (b < 0) ? INT64_MIN : INT64_MAX)
                                                : product;
}

inline int64_t product(std::span<const int64_t> dims) {
  int64_t size = 1;
  for (const int64_t dim : dims) size = times(size, dim);
  return size;
}

inline std::vector<int64_t> to_vector(std::span<const int64_t> dims) {
  return {dims.begin(), dims.end()};
}

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
