// Numpy's broadcasting of N operands, as rows with constant strides.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "common/eval/call.h"

namespace sluice::eval {

// Returns the broadcast shape of inputs [first, last) of a call, or kBadShape.
Result<std::vector<int64_t>> broadcast_dims(const EvalCall& call, size_t first, size_t last);
// Returns true when `dims` can be broadcast to `to` (without changing `to`).
bool broadcasts_to(std::span<const int64_t> dims, std::span<const int64_t> to);

// Returns row-major strides in elements.
std::vector<int64_t> dense_strides(std::span<const int64_t> dims);
// Returns the strides of a dense tensor of `dims` viewed as one of `to`: 0 along broadcast axes.
std::vector<int64_t> broadcast_strides(std::span<const int64_t> dims, std::span<const int64_t> to);

struct RowPlan {
  // Adjacent axes are merged where the strides of every operand allow it; never empty.
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> strides;  // per operand, like dims

  int64_t row() const { return dims.back(); }
  int64_t stride(size_t operand) const { return strides[operand].back(); }
};
RowPlan make_row_plan(std::span<const int64_t> dims,
                      const std::vector<std::vector<int64_t>>& strides);
// Calls row(offset of the result, offsets of the operands) for each row of the dense result.
void for_each_row(const RowPlan& plan,
                  const std::function<void(int64_t out, const int64_t* at)>& row);
// Returns the offset of every element of a tensor of `dims` at the given strides, in row-major
// order.
std::vector<int64_t> all_offsets(std::span<const int64_t> dims,
                                 const std::vector<int64_t>& strides);

}  // namespace sluice::eval
