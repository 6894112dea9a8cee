// Boxes of row-major tensors, and copies between strided layouts, used by tiled evaluation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/dtype.h"

namespace sluice::eval {

// The elements with begin[i] <= index[i] < begin[i] + extent[i] on every axis.
struct Box {
  std::vector<int64_t> begin, extent;

  static Box whole(const std::vector<int64_t>& dims) {
    return {std::vector<int64_t>(dims.size(), 0), dims};
  }
  auto operator<=>(const Box&) const = default;
};

// Elements in memory: index i is at the sum of i[axis] * strides[axis], in elements. A stride of 0
// repeats.
struct StridedView {
  const std::byte* data = nullptr;
  std::vector<int64_t> dims, strides;

  bool is_dense() const;  // row-major without gaps
};

std::vector<int64_t> dense_strides(const std::vector<int64_t>& dims);

// Copies all elements of `from` to `to`, row-major or with `to_strides`. width: bytes of an
// element, 1, 2, 4, 8 or 16. Neither side needs to be aligned to it.
void copy_strided(const StridedView& from, size_t width, std::byte* to);
void copy_strided(const StridedView& from, size_t width, std::byte* to,
                  const std::vector<int64_t>& to_strides);

// Returns true when kernels can read elements of this dtype there: a constant may be at any byte of
// a file.
inline bool is_aligned(const std::byte* data, DType dtype) {
  // Strings begin with 64-bit offsets, complex numbers are two numbers, and elements below a byte
  // are read by bytes.
  const int width = dtype == DType::kString ? 8 : std::clamp(dtype_bits(dtype) / 8, 1, 8);
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(width) == 0;
}

// The elements under dims `from` that an element box of a tensor of dims `to` reads (the products
// of the dims are equal): the smallest box of `from` that covers it in each group of axes, and the
// strides of the wanted box in the dense elements of that box.
struct ReshapedBox {
  Box source;
  int64_t offset = 0;            // of the first element of the wanted box, in elements
  std::vector<int64_t> strides;  // of the wanted box's axes
};
ReshapedBox reshape_box(const Box& wanted, const std::vector<int64_t>& to,
                        const std::vector<int64_t>& from);

}  // namespace sluice::eval
