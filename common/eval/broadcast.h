// Numpy's broadcasting of N operands, as rows with constant strides.
#pragma once

#include <algorithm>
#include <array>
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

template <size_t N>
struct RowPlan {
  std::vector<int64_t> dims;                    // neighbours merged where every operand's strides allow; never empty
  std::array<std::vector<int64_t>, N> strides;  // per operand, like dims

  int64_t row() const { return dims.back(); }
  int64_t stride(size_t operand) const { return strides[operand].back(); }
};

template <size_t N>
RowPlan<N> make_row_plan(std::span<const int64_t> dims, const std::array<std::vector<int64_t>, N>& strides) {
  RowPlan<N> plan;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) continue;
    bool merges = !plan.dims.empty();
    for (size_t k = 0; merges && k < N; ++k) merges = plan.strides[k].back() == strides[k][axis] * dims[axis];
    if (merges) {
      plan.dims.back() *= dims[axis];
      for (size_t k = 0; k < N; ++k) plan.strides[k].back() = strides[k][axis];
    } else {
      plan.dims.push_back(dims[axis]);
      for (size_t k = 0; k < N; ++k) plan.strides[k].push_back(strides[k][axis]);
    }
  }
  if (plan.dims.empty()) {
    plan.dims.push_back(1);
    for (size_t k = 0; k < N; ++k) plan.strides[k].push_back(1);
  }
  return plan;
}

// row(offset of the result, offsets of the operands) for each row, the result dense.
template <size_t N, typename F>
void for_each_row(const RowPlan<N>& plan, F&& row) {
  if (std::ranges::find(plan.dims, 0) != plan.dims.end()) return;
  std::vector<int64_t> index(plan.dims.size(), 0);
  std::array<int64_t, N> offsets{};
  for (int64_t out = 0;; out += plan.row()) {
    row(out, offsets);
    size_t axis = plan.dims.size() - 1;
    for (;;) {
      if (axis == 0) return;
      --axis;
      for (size_t k = 0; k < N; ++k) offsets[k] += plan.strides[k][axis];
      if (++index[axis] < plan.dims[axis]) break;
      for (size_t k = 0; k < N; ++k) offsets[k] -= plan.strides[k][axis] * plan.dims[axis];
      index[axis] = 0;
    }
  }
}

// y = f(a, b) with broadcasting.
template <typename A, typename B, typename R, typename F>
void apply_binary(const Input& a, const Input& b, const Output& y, F f) {
  const auto plan = make_row_plan<2>(y.dims, {broadcast_strides(a.dims, y.dims), broadcast_strides(b.dims, y.dims)});
  const int64_t n = plan.row();
  const int64_t stride_a = plan.stride(0);
  const int64_t stride_b = plan.stride(1);
  for_each_row(plan, [&](int64_t out, const std::array<int64_t, 2>& at) {
    const A* __restrict left = a.as<A>() + at[0];
    const B* __restrict right = b.as<B>() + at[1];
    R* __restrict result = y.as<R>() + out;
    if (stride_a == 1 && stride_b == 1) {
      for (int64_t i = 0; i < n; ++i) result[i] = f(left[i], right[i]);
    } else if (stride_a == 1 && stride_b == 0) {
      for (int64_t i = 0; i < n; ++i) result[i] = f(left[i], right[0]);
    } else if (stride_a == 0 && stride_b == 1) {
      for (int64_t i = 0; i < n; ++i) result[i] = f(left[0], right[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) result[i] = f(left[i * stride_a], right[i * stride_b]);
    }
  });
}

}  // namespace sluice::eval
