#include "common/eval/broadcast.h"

#include <algorithm>

#include "common/eval/axes.h"

namespace sluice::eval {

Result<std::vector<int64_t>> broadcast_dims(const EvalCall& call, size_t first, size_t last) {
  std::vector<int64_t> dims;
  for (size_t i = first; i < last; ++i) {
    const auto& other = call.input(i).dims;
    if (other.size() > dims.size()) dims.insert(dims.begin(), other.size() - dims.size(), 1);
    for (size_t k = 0; k < other.size(); ++k) {
      int64_t& dim = dims[dims.size() - other.size() + k];
      if (dim != other[k] && dim != 1 && other[k] != 1) {
        return call.bad_shape("inputs of shapes {} and {} cannot be broadcast",
                              dims_text(call.input(first).dims), dims_text(other));
      }
      if (dim == 1) dim = other[k];
    }
  }
  return dims;
}

bool broadcasts_to(std::span<const int64_t> dims, std::span<const int64_t> to) {
  if (dims.size() > to.size()) return false;
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] != 1 && dims[k] != to[to.size() - dims.size() + k]) return false;
  }
  return true;
}

std::vector<int64_t> dense_strides(std::span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t axis = dims.size(); axis-- > 0; stride = times(stride, dims[axis]))
    strides[axis] = stride;
  return strides;
}

std::vector<int64_t> broadcast_strides(std::span<const int64_t> dims, std::span<const int64_t> to) {
  const std::vector<int64_t> dense = dense_strides(dims);
  std::vector<int64_t> strides(to.size(), 0);
  const size_t shift = to.size() - dims.size();
  for (size_t axis = 0; axis < dims.size(); ++axis)
    strides[shift + axis] = dims[axis] == 1 ? 0 : dense[axis];
  return strides;
}

RowPlan make_row_plan(std::span<const int64_t> dims,
                      const std::vector<std::vector<int64_t>>& strides) {
  const size_t operands = strides.size();
  RowPlan plan;
  plan.strides.resize(operands);
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) continue;
    bool merges = !plan.dims.empty();
    for (size_t k = 0; merges && k < operands; ++k)
      merges = plan.strides[k].back() == times(strides[k][axis], dims[axis]);
    if (merges) {
      plan.dims.back() = times(plan.dims.back(), dims[axis]);
      for (size_t k = 0; k < operands; ++k) plan.strides[k].back() = strides[k][axis];
    } else {
      plan.dims.push_back(dims[axis]);
      for (size_t k = 0; k < operands; ++k) plan.strides[k].push_back(strides[k][axis]);
    }
  }
  if (plan.dims.empty()) {
    plan.dims.push_back(1);
    for (auto& own : plan.strides) own.push_back(1);
  }
  return plan;
}

void for_each_row(const RowPlan& plan,
                  const std::function<void(int64_t out, const int64_t* at)>& row) {
  if (std::ranges::find(plan.dims, 0) != plan.dims.end()) return;
  std::vector<int64_t> index(plan.dims.size(), 0);
  std::vector<int64_t> offsets(plan.strides.size(), 0);
  for (int64_t out = 0;; out += plan.row()) {
    row(out, offsets.data());
    size_t axis = plan.dims.size() - 1;
    for (;;) {
      if (axis == 0) return;
      --axis;
      for (size_t k = 0; k < offsets.size(); ++k) offsets[k] += plan.strides[k][axis];
      if (++index[axis] < plan.dims[axis]) break;
      for (size_t k = 0; k < offsets.size(); ++k)
        offsets[k] -= plan.strides[k][axis] * plan.dims[axis];
      index[axis] = 0;
    }
  }
}

std::vector<int64_t> all_offsets(std::span<const int64_t> dims,
                                 const std::vector<int64_t>& strides) {
  std::vector<int64_t> offsets(static_cast<size_t>(product(dims)));
  const RowPlan plan = make_row_plan(dims, {strides});
  for_each_row(plan, [&](int64_t out, const int64_t* at) {
    for (int64_t i = 0; i < plan.row(); ++i)
      offsets[static_cast<size_t>(out + i)] = at[0] + i * plan.stride(0);
  });
  return offsets;
}

}  // namespace sluice::eval
