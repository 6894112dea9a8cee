// Ops that move elements by indices.
#include <algorithm>
#include <array>
#include <cstring>

#include "common/eval/axes.h"
#include "common/eval/broadcast.h"
#include "common/eval/dispatch.h"
#include "common/eval/elementwise.h"
#include "common/eval/kernels.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

// Returns indices in [0, extent); negative ones count from the end.
Result<std::vector<int64_t>> checked_indices(const EvalCall& call, size_t input, int64_t extent) {
  std::vector<int64_t> indices = call.ints(input);
  for (int64_t& index : indices) {
    if (index < -extent || index >= extent)
      return call.bad_value("index {} lies outside an axis of {}", index, extent);
    if (index < 0) index += extent;
  }
  return indices;
}

// The combination of an update with the existing element.
enum class Reduction { kNone, kAdd, kMul, kMax, kMin };

Result<Reduction> reduction_of(const EvalCall& call) {
  const std::string name = call.node.get(attributes::ScatterND::reduction);
  if (name == "none") return Reduction::kNone;
  if (name == "add") return Reduction::kAdd;
  if (name == "mul") return Reduction::kMul;
  if (name == "max") return Reduction::kMax;
  if (name == "min") return Reduction::kMin;
  return call.bad_value("unknown reduction '{}'", name);
}

template <typename T>
T reduce(Reduction reduction, T old, T update) {
  switch (reduction) {
    case Reduction::kAdd:
      return old + update;
    case Reduction::kMul:
      return old * update;
    case Reduction::kMax:
      return std::max(old, update);
    case Reduction::kMin:
      return std::min(old, update);
    default:
      return update;
  }
}

// Combines integers. Sums and products are modulo 2^bits; the order is that of their keys.
void meet_integers(Reduction reduction, DType dtype, std::byte* element, const std::byte* update) {
  const bool ordered = reduction == Reduction::kMax || reduction == Reduction::kMin;
  int64_t old = 0;
  int64_t other = 0;
  (ordered ? load_order_keys : load_ints)(dtype, element, 0, 1, &old);
  (ordered ? load_order_keys : load_ints)(dtype, update, 0, 1, &other);
  if (ordered) {
    const bool replaces = reduction == Reduction::kMax ? old < other : other < old;
    if (replaces) std::memcpy(element, update, static_cast<size_t>(dtype_bits(dtype)) / 8);
    return;
  }
  const auto met = static_cast<int64_t>(
      reduce(reduction, static_cast<uint64_t>(old), static_cast<uint64_t>(other)));
  store_ints(dtype, element, 0, 1, &met);
}

template <typename T>
void meet(Reduction reduction, DType dtype, T& element, const T& update) {
  if (reduction == Reduction::kNone) {
    element = update;
  } else if constexpr (std::is_floating_point_v<T>) {
    element = reduce(reduction, element, update);
  } else {
    meet_integers(reduction, dtype, reinterpret_cast<std::byte*>(&element),
                  reinterpret_cast<const std::byte*>(&update));
  }
}

// Runs f<T>: floats with their type, all others by width.
template <typename F>
Result<void> visit_update(const EvalCall& call, Reduction reduction, DType dtype, F&& f) {
  if (reduction != Reduction::kNone && number_class(dtype) == DType::kUndefined)
    return call.unsupported(dtype);
  if (dtype == DType::kF32 || dtype == DType::kF64) return visit_float(call, dtype, f);
  return visit_width(call, dtype, f);
}

// Returns for each element of a tensor of `dims` its offset in a tensor of `x_dims` without its
// coordinate along `axis`.
std::vector<int64_t> offsets_without_axis(std::span<const int64_t> dims,
                                          std::span<const int64_t> x_dims, int64_t axis) {
  std::vector<int64_t> strides = dense_strides(x_dims);
  strides[static_cast<size_t>(axis)] = 0;
  return all_offsets(dims, strides);
}

Result<void> check_element_indices(const EvalCall& call, const Input& x, const Input& indices,
                                   int64_t axis) {
  bool fits = x.rank() == indices.rank();
  for (int64_t i = 0; fits && i < x.rank(); ++i)
    fits = i == axis || indices.dims[static_cast<size_t>(i)] <= x.dims[static_cast<size_t>(i)];
  if (!fits)
    return call.bad_shape("indices {} do not fit the data {}", dims_text(indices.dims),
                          dims_text(x.dims));
  return {};
}

// The offsets of the slices that index tuples (the last axis of input 1) name; `batch` leading axes
// are shared.
struct Slices {
  std::vector<int64_t> offsets;
  int64_t size = 1;
  std::vector<int64_t> slice_dims;  // dims of one slice
};

Result<Slices> find_slices(const EvalCall& call, int64_t batch) {
  const Input& x = call.input(0);
  const Input& indices = call.input(1);
  const int64_t depth = indices.rank() > 0 ? indices.dims.back() : 0;
  if (batch < 0 || indices.rank() <= batch || batch + depth > x.rank())
    return call.bad_shape("indices {} do not fit the data {}", dims_text(indices.dims),
                          dims_text(x.dims));
  for (int64_t i = 0; i < batch; ++i) {
    if (indices.dims[static_cast<size_t>(i)] != x.dims[static_cast<size_t>(i)])
      return call.bad_shape("the batch axes of {} and {} differ", dims_text(indices.dims),
                            dims_text(x.dims));
  }
  Slices slices;
  slices.slice_dims.assign(x.dims.begin() + batch + depth, x.dims.end());
  slices.size = product(slices.slice_dims);
  const auto strides = dense_strides(x.dims);
  const auto flat = call.ints(1);
  const int64_t tuples = product(indices.dims.first(indices.dims.size() - 1));
  const int64_t batches = product(x.dims.first(static_cast<size_t>(batch)));
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t offset = batches == 0 ? 0 : t / (tuples / batches) * (x.count / batches);
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t extent = x.dims[static_cast<size_t>(batch + k)];
      int64_t index = flat[static_cast<size_t>(t * depth + k)];
      if (index < -extent || index >= extent)
        return call.bad_value("index {} lies outside an axis of {}", index, extent);
      if (index < 0) index += extent;
      offset += index * strides[static_cast<size_t>(batch + k)];
    }
    slices.offsets.push_back(offset);
  }
  return slices;
}

}  // namespace

Result<void> eval_gather(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& indices = call.input(1);
  SLUICE_ASSIGN(const int64_t axis, call.axis(call.node.get(attributes::Gather::axis), x.rank()));
  const AxisSplit split(x.dims, axis);
  SLUICE_ASSIGN(const auto wanted, checked_indices(call, 1, split.count));
  std::vector<int64_t> dims(x.dims.begin(), x.dims.begin() + axis);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  const size_t run =
      static_cast<size_t>(split.inner) * static_cast<size_t>(dtype_bits(y.dtype)) / 8;
  std::byte* to = y.data;
  for (int64_t outer = 0; run > 0 && outer < split.outer; ++outer) {
    const std::byte* from = x.data + static_cast<size_t>(outer * split.count) * run;
    for (const int64_t index : wanted) {
      std::memcpy(to, from + static_cast<size_t>(index) * run, run);
      to += run;
    }
  }
  return {};
}

Result<void> eval_gather_elements(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& indices = call.input(1);
  SLUICE_ASSIGN(const int64_t axis, call.axis(call.node.get(attributes::Gather::axis), x.rank()));
  SLUICE_TRY(check_element_indices(call, x, indices, axis));
  SLUICE_ASSIGN(const auto wanted, checked_indices(call, 1, x.dims[static_cast<size_t>(axis)]));
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(indices.dims)));
  const auto offsets = offsets_without_axis(indices.dims, x.dims, axis);
  const int64_t stride = dense_strides(x.dims)[static_cast<size_t>(axis)];
  return visit_width(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (size_t i = 0; i < offsets.size(); ++i)
      y.as<T>()[i] = x.as<T>()[offsets[i] + wanted[i] * stride];
    return {};
  });
}

Result<void> eval_gather_nd(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& indices = call.input(1);
  SLUICE_ASSIGN(const Slices slices,
                find_slices(call, call.node.get(attributes::GatherND::batch_dims)));
  std::vector<int64_t> dims(indices.dims.begin(), indices.dims.end() - 1);
  dims.insert(dims.end(), slices.slice_dims.begin(), slices.slice_dims.end());
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  const size_t width = static_cast<size_t>(dtype_bits(y.dtype)) / 8;
  const size_t run = static_cast<size_t>(slices.size) * width;
  for (size_t i = 0; run > 0 && i < slices.offsets.size(); ++i) {
    std::memcpy(y.data + i * run, x.data + static_cast<size_t>(slices.offsets[i]) * width, run);
  }
  return {};
}

Result<void> eval_scatter_elements(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& indices = call.input(1);
  const Input& updates = call.input(2);
  SLUICE_ASSIGN(const int64_t axis,
                call.axis(call.node.get(attributes::ScatterElements::axis), x.rank()));
  SLUICE_ASSIGN(const Reduction reduction, reduction_of(call));
  SLUICE_TRY(check_element_indices(call, x, indices, axis));
  if (!std::ranges::equal(indices.dims, updates.dims) || updates.logical != x.logical)
    return call.bad_shape("updates {} do not fit indices {}", dims_text(updates.dims),
                          dims_text(indices.dims));
  SLUICE_ASSIGN(const auto wanted, checked_indices(call, 1, x.dims[static_cast<size_t>(axis)]));
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  const auto offsets = offsets_without_axis(indices.dims, x.dims, axis);
  const int64_t stride = dense_strides(x.dims)[static_cast<size_t>(axis)];
  return visit_update(call, reduction, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    std::copy_n(x.as<T>(), x.count, y.as<T>());
    for (size_t i = 0; i < offsets.size(); ++i) {
      meet(reduction, x.dtype, y.as<T>()[offsets[i] + wanted[i] * stride], updates.as<T>()[i]);
    }
    return {};
  });
}

Result<void> eval_scatter_nd(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& updates = call.input(2);
  SLUICE_ASSIGN(const Reduction reduction, reduction_of(call));
  SLUICE_ASSIGN(const Slices slices, find_slices(call, 0));
  if (updates.count != static_cast<int64_t>(slices.offsets.size()) * slices.size ||
      updates.logical != x.logical)
    return call.bad_shape("updates {} do not fit the indices", dims_text(updates.dims));
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  return visit_update(call, reduction, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    std::copy_n(x.as<T>(), x.count, y.as<T>());
    const T* update = updates.as<T>();
    for (const int64_t offset : slices.offsets) {
      for (int64_t i = 0; i < slices.size; ++i)
        meet(reduction, x.dtype, y.as<T>()[offset + i], *update++);
    }
    return {};
  });
}

Result<void> eval_tensor_scatter(EvalCall& call) {
  const Input& past = call.input(0);
  const Input& update = call.input(1);
  SLUICE_ASSIGN(const int64_t axis,
                call.axis(call.node.get(attributes::TensorScatter::axis), past.rank()));
  std::vector<int64_t> dims = to_vector(update.dims);
  if (axis == 0 || dims.size() != past.dims.size() || update.logical != past.logical)
    return call.bad_shape("update {} does not fit the cache {}", dims_text(update.dims),
                          dims_text(past.dims));
  const int64_t length = dims[static_cast<size_t>(axis)];
  dims[static_cast<size_t>(axis)] = past.dims[static_cast<size_t>(axis)];
  if (!std::ranges::equal(dims, past.dims))
    return call.bad_shape("update {} does not fit the cache {}", dims_text(update.dims),
                          dims_text(past.dims));
  std::vector<int64_t> starts = call.ints(2);
  if (!call.has(2)) starts.assign(static_cast<size_t>(past.dims[0]), 0);
  if (static_cast<int64_t>(starts.size()) != past.dims[0])
    return call.bad_shape("{} write indices for a batch of {}", starts.size(), past.dims[0]);
  const bool circular = call.node.get(attributes::TensorScatter::mode) == "circular";
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(past.dims)));
  if (y.count == 0) return {};
  std::memcpy(y.data, past.data, dtype_bytes(y.dtype, static_cast<uint64_t>(y.count)));
  const AxisSplit split(past.dims, axis);
  const size_t run =
      static_cast<size_t>(split.inner) * static_cast<size_t>(dtype_bits(y.dtype)) / 8;
  for (int64_t outer = 0; outer < split.outer; ++outer) {
    const int64_t start = starts[static_cast<size_t>(outer / (split.outer / past.dims[0]))];
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = circular ? (start + i) % split.count : start + i;
      if (at < 0 || at >= split.count)
        return call.bad_value("write index {} lies outside an axis of {}", at, split.count);
      std::memcpy(y.data + static_cast<size_t>(outer * split.count + at) * run,
                  update.data + static_cast<size_t>(outer * length + i) * run, run);
    }
  }
  return {};
}

Result<void> eval_one_hot(EvalCall& call) {
  const Input& indices = call.input(0);
  const Input& values = call.input(2);
  const auto depth = static_cast<int64_t>(call.number(1, 0));
  if (values.count != 2 || depth < 0)
    return call.bad_shape("depth {} or {} values are not fit", depth, values.count);
  SLUICE_ASSIGN(const int64_t axis,
                call.axis(call.node.get(attributes::OneHot::axis), indices.rank() + 1));
  std::vector<int64_t> dims = to_vector(indices.dims);
  dims.insert(dims.begin() + axis, depth);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 2, dims));
  const AxisSplit split(y.dims, axis);
  std::vector<double> wanted(static_cast<size_t>(indices.count));
  load_doubles(indices.dtype, indices.data, 0, indices.count, wanted.data());
  return visit_width(call, y.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    std::fill_n(y.as<T>(), y.count, values.as<T>()[0]);
    for (int64_t i = 0; i < indices.count; ++i) {
      const auto index = static_cast<int64_t>(wanted[static_cast<size_t>(i)]);
      if (index < -depth || index >= depth) continue;
      const int64_t at = index < 0 ? index + depth : index;
      y.as<T>()[(i / split.inner * depth + at) * split.inner + i % split.inner] = values.as<T>()[1];
    }
    return {};
  });
}

Result<void> eval_compress(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& condition = call.input(1);
  const bool flat = !call.node.has(attributes::Compress::axis);
  const std::vector<int64_t> line = {x.count};
  int64_t axis = 0;
  if (!flat) {
    SLUICE_ASSIGN(axis, call.axis(call.node.get(attributes::Compress::axis), x.rank()));
  }
  const AxisSplit split(flat ? std::span<const int64_t>(line) : x.dims, axis);
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < std::min(condition.count, split.count); ++i) {
    if (condition.as<uint8_t>()[i] != 0) kept.push_back(i);
  }
  std::vector<int64_t> dims = flat ? std::vector<int64_t>{0} : to_vector(x.dims);
  dims[static_cast<size_t>(axis)] = static_cast<int64_t>(kept.size());
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  const size_t run =
      static_cast<size_t>(split.inner) * static_cast<size_t>(dtype_bits(y.dtype)) / 8;
  std::byte* to = y.data;
  for (int64_t outer = 0; run > 0 && outer < split.outer; ++outer) {
    for (const int64_t i : kept) {
      std::memcpy(to, x.data + static_cast<size_t>(outer * split.count + i) * run, run);
      to += run;
    }
  }
  return {};
}

Result<void> eval_non_zero(EvalCall& call) {
  const Input& x = call.input(0);
  if (number_class(x.dtype) == DType::kUndefined && x.dtype != DType::kBool)
    return call.unsupported(x.dtype);
  std::vector<int64_t> found;
  constexpr int64_t kPiece = 512;
  std::array<double, kPiece> piece;
  for (int64_t first = 0; first < x.count; first += kPiece) {
    const int64_t n = std::min(kPiece, x.count - first);
    load_doubles(x.dtype, x.data, first, n, piece.data());
    for (int64_t i = 0; i < n; ++i) {
      if (piece[static_cast<size_t>(i)] != 0) found.push_back(first + i);
    }
  }
  const auto count = static_cast<int64_t>(found.size());
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kI64, {x.rank(), count}));
  const auto strides = dense_strides(x.dims);
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    for (size_t i = 0; i < found.size(); ++i)
      y.as<int64_t>()[axis * found.size() + i] = found[i] / strides[axis] % x.dims[axis];
  }
  return {};
}

}  // namespace sluice::eval
