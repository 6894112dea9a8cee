#include "common/eval/broadcast.h"

namespace sluice::eval {

Result<std::vector<int64_t>> broadcast_dims(const EvalCall& call, size_t first, size_t last) {
  std::vector<int64_t> dims;
  for (size_t i = first; i < last; ++i) {
    const auto& other = call.input(i).dims;
    if (other.size() > dims.size()) dims.insert(dims.begin(), other.size() - dims.size(), 1);
    for (size_t k = 0; k < other.size(); ++k) {
      int64_t& dim = dims[dims.size() - other.size() + k];
      if (dim != other[k] && dim != 1 && other[k] != 1) {
        return call.bad_shape("inputs of shapes {} and {} cannot be broadcast", dims_text(call.input(first).dims), dims_text(other));
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
  for (size_t axis = dims.size(); axis-- > 0; stride *= dims[axis]) strides[axis] = stride;
  return strides;
}

std::vector<int64_t> broadcast_strides(std::span<const int64_t> dims, std::span<const int64_t> to) {
  const std::vector<int64_t> dense = dense_strides(dims);
  std::vector<int64_t> strides(to.size(), 0);
  const size_t shift = to.size() - dims.size();
  for (size_t axis = 0; axis < dims.size(); ++axis) strides[shift + axis] = dims[axis] == 1 ? 0 : dense[axis];
  return strides;
}

}  // namespace sluice::eval
