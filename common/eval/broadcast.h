// Numpy's broadcasting of N operands, as rows with constant strides.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "common/eval/call.h"

namespace sluice::eval {

// The broadcast of inputs [first, last) of a call, or kBadShape.
Result<std::vector<int64_t>> broadcast_dims(const EvalCall& call, size_t first, size_t last);
// Whether `dims` can be broadcast to `to` (without changing `to`).
bool broadcasts_to(std::span<const int64_t> dims, std::span<const int64_t> to);

// Row-major strides in elements.
std::vector<int64_t> dense_strides(std::span<const int64_t> dims);
// Strides of a dense tensor of `dims` seen as one of `to`: 0 along broadcast axes.
std::vector<int64_t> broadcast_strides(std::span<const int64_t> dims, std::span<const int64_t> to);

struct RowPlan {
  std::vector<int64_t> dims;  // neighbours merged where every operand's strides allow; never empty
  std::vector<std::vector<int64_t>> strides;  // per operand, like dims

  int64_t row() const { return dims.back(); }
  int64_t stride(size_t operand) const { return strides[operand].back(); }
};
RowPlan make_row_plan(std::span<const int64_t> dims,
                      const std::vector<std::vector<int64_t>>& strides);
// row(offset of the result, offsets of the operands) for each row, the result dense.
void for_each_row(const RowPlan& plan,
                  const std::function<void(int64_t out, const int64_t* at)>& row);
// The offset of every element of a tensor of `dims` at the given strides, in row-major order.
std::vector<int64_t> all_offsets(std::span<const int64_t> dims,
                                 const std::vector<int64_t>& strides);

}  // namespace sluice::eval
