// Ops about shapes, whose result is the elements of their input under another shape, or the shape
// itself.
#include <algorithm>
#include <cmath>
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

Result<void> write_ints(EvalCall& call, std::vector<int64_t> dims,
                        const std::vector<int64_t>& values) {
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kI64, std::move(dims)));
  if (!values.empty()) std::memcpy(y.data, values.data(), values.size() * sizeof(int64_t));
  return {};
}

// Returns axes as indices in [0, rank), sorted, each once.
Result<std::vector<int64_t>> sorted_axes(const EvalCall& call, std::vector<int64_t> axes,
                                         int64_t rank) {
  for (int64_t& axis : axes) {
    SLUICE_ASSIGN(axis, call.axis(axis, rank));
  }
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end())
    return call.bad_value("an axis is named twice");
  return axes;
}

}  // namespace

Result<void> eval_shape(EvalCall& call) {
  const Input& x = call.input(0);
  const auto clamped = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + x.rank() : at, 0, x.rank());
  };
  const int64_t start = clamped(call.node.get(attributes::Shape::start));
  const int64_t end = clamped(call.node.get(attributes::Shape::end, x.rank()));
  std::vector<int64_t> dims;
  if (end > start) dims.assign(x.dims.begin() + start, x.dims.begin() + end);
  return write_ints(call, {static_cast<int64_t>(dims.size())}, dims);
}

Result<void> eval_size(EvalCall& call) { return write_ints(call, {}, {call.input(0).count}); }

Result<void> eval_reshape(EvalCall& call) {
  const Input& x = call.input(0);
  const bool allow_zero = call.node.get(attributes::Reshape::allowzero) != 0;
  std::vector<int64_t> dims = call.ints(1);
  // Dims that are copied are on both sides, and a -1 is solved beside them also where one is 0.
  std::vector<int64_t> left = to_vector(x.dims);
  int64_t known = 1;
  int64_t open = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !allow_zero) {
      if (static_cast<int64_t>(i) >= x.rank())
        return call.bad_shape("dim {} of the shape copies from the input {}, which has no such dim",
                              i, dims_text(x.dims));
      dims[i] = std::exchange(left[i], 1);
    } else if (dims[i] == -1 && open < 0) {
      open = static_cast<int64_t>(i);
    } else if (dims[i] < 0) {
      return call.bad_value("the shape {} has a negative dim", dims_text(dims));
    } else {
      known = times(known, dims[i]);
    }
  }
  if (open >= 0) {
    if (known == 0 || product(left) % known != 0)
      return call.bad_shape("{} elements do not fit the shape {}", x.count, dims_text(dims));
    dims[static_cast<size_t>(open)] = product(left) / known;
  }
  return call.copy_input(0, 0, dims);
}

Result<void> eval_flatten(EvalCall& call) {
  const Input& x = call.input(0);
  int64_t axis = call.node.get(attributes::Flatten::axis);
  if (axis < -x.rank() || axis > x.rank())
    return call.bad_value("axis {} lies outside a tensor of rank {}", axis, x.rank());
  if (axis < 0) axis += x.rank();
  return call.copy_input(0, 0,
                         {product(x.dims.first(static_cast<size_t>(axis))),
                          product(x.dims.subspan(static_cast<size_t>(axis)))});
}

Result<void> eval_squeeze(EvalCall& call) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const auto axes, sorted_axes(call, call.ints(1), x.rank()));
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const int64_t dim = x.dims[static_cast<size_t>(i)];
    const bool named = std::ranges::binary_search(axes, i);
    if (named && dim != 1) return call.bad_shape("axis {} of {} is not 1", i, dims_text(x.dims));
    if (!named && (call.has(1) || dim != 1)) dims.push_back(dim);
  }
  return call.copy_input(0, 0, dims);
}

Result<void> eval_unsqueeze(EvalCall& call) {
  const Input& x = call.input(0);
  std::vector<int64_t> axes = call.ints(1);
  const int64_t rank = x.rank() + static_cast<int64_t>(axes.size());
  SLUICE_ASSIGN(axes, sorted_axes(call, std::move(axes), rank));
  std::vector<int64_t> dims = to_vector(x.dims);
  for (const int64_t axis : axes) dims.insert(dims.begin() + axis, 1);
  return call.copy_input(0, 0, dims);
}

Result<void> eval_constant_of_shape(EvalCall& call) {
  const std::vector<int64_t> dims = call.ints(0);
  Tensor value = make_tensor(DType::kF32, {1});
  if (const SegmentId given = call.node.get(attributes::ConstantOfShape::value); given >= 0) {
    SLUICE_ASSIGN(value, evaluate_segment(call.node.graph().module(), given));
  }
  if (element_count(value.dims) != 1)
    return call.bad_value("the value has {} elements, expected 1", *element_count(value.dims));
  SLUICE_ASSIGN(const Output y, call.output(0, value.dtype, dims));
  const size_t bytes = dtype_bytes(y.dtype, static_cast<uint64_t>(y.count));
  if (dtype_bits(y.dtype) >= 8) {
    for (size_t at = 0; at < bytes; at += value.bytes.size())
      std::memcpy(y.data + at, value.bytes.data(), value.bytes.size());
    return {};
  }
  if (y.dtype == DType::kString) return call.unsupported(y.dtype);
  double element = 0;
  load_doubles(value.dtype, value.bytes.data(), 0, 1, &element);
  for (int64_t i = 0; i < y.count; ++i) store_doubles(y.dtype, y.data, i, 1, &element);
  return {};
}

namespace {

// Computes ceil((end - start) / step) of integers, at least 0. The difference of two int64 always
// fits uint64.
uint64_t count_integers(int64_t start, int64_t end, int64_t step) {
  const bool rises = step > 0;
  if (rises ? end <= start : end >= start) return 0;
  const uint64_t distance = rises ? static_cast<uint64_t>(end) - static_cast<uint64_t>(start)
                                  : static_cast<uint64_t>(start) - static_cast<uint64_t>(end);
  const uint64_t stride =
      rises ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  return (distance - 1) / stride + 1;
}

}  // namespace

Result<void> eval_range(EvalCall& call) {
  const Input& start = call.input(0);
  for (size_t i = 0; i < 3; ++i) {
    if (call.input(i).count != 1 || call.input(i).dtype != start.dtype)
      return call.bad_value("input {} is not a scalar of the same type", i);
  }
  const double step = call.number(2, 1);
  if (step == 0) return call.bad_value("the step is zero");
  const bool is_float = dtype_is_float(start.logical);
  const double steps = is_float ? std::ceil((call.number(1, 0) - call.number(0, 0)) / step)
                                : static_cast<double>(count_integers(
                                      call.integer(0, 0), call.integer(1, 0), call.integer(2, 1)));
  if (!(steps < 1e12)) return call.bad_value("the range has no end");
  SLUICE_ASSIGN(const Output y,
                call.output_like(0, 0, {std::max<int64_t>(0, static_cast<int64_t>(steps))}));
  if (start.dtype == DType::kF32 || start.dtype == DType::kF64) {
    return visit_float(call, start.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
      const T first = start.as<T>()[0];
      const T delta = call.input(2).as<T>()[0];
      for (int64_t i = 0; i < y.count; ++i) y.as<T>()[i] = first + static_cast<T>(i) * delta;
      return {};
    });
  }
  if (number_class(start.dtype) == DType::kUndefined) return call.unsupported(start.dtype);
  const auto delta = static_cast<uint64_t>(call.integer(2, 0));
  auto next = static_cast<uint64_t>(call.integer(0, 0));  // modulo 2^bits
  for (int64_t i = 0; i < y.count; ++i, next += delta) {
    const auto value = static_cast<int64_t>(next);
    store_ints(y.dtype, y.data, i, 1, &value);
  }
  return {};
}

Result<void> eval_eye_like(EvalCall& call) {
  const Input& x = call.input(0);
  if (x.rank() != 2) return call.bad_shape("the input has rank {}, expected 2", x.rank());
  const auto dtype = static_cast<DType>(
      call.node.get(attributes::EyeLike::dtype, static_cast<int64_t>(x.logical)));
  const int64_t shift = call.node.get(attributes::EyeLike::k);
  SLUICE_ASSIGN(const Output y, call.output(0, dtype, to_vector(x.dims)));
  for (int64_t i = 0; i < y.count; ++i) {
    const double one = i % y.dims[1] - i / y.dims[1] == shift ? 1 : 0;
    store_doubles(y.dtype, y.data, i, 1, &one);
  }
  return {};
}

}  // namespace sluice::eval
