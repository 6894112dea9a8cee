// Ops that only move elements by position: every one is a strided copy or a sequence of copies.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "common/eval/axes.h"
#include "common/eval/broadcast.h"
#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/ir/shape_mismatch.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

// Copies the elements of `from` at the given strides, starting at `start`, to `to` (dense, of
// `dims`).
template <typename T>
void copy_at_strides(const T* from, int64_t start, const std::vector<int64_t>& strides,
                     const std::vector<int64_t>& dims, T* to) {
  const auto plan = make_row_plan(dims, {strides});
  const int64_t stride = plan.stride(0);
  for_each_row(plan, [&](int64_t out, const int64_t* at) {
    const T* source = from + start + at[0];
    if (stride == 1) {
      std::memcpy(to + out, source, static_cast<size_t>(plan.row()) * sizeof(T));
    } else {
      for (int64_t i = 0; i < plan.row(); ++i) to[out + i] = source[i * stride];
    }
  });
}

Result<void> strided(EvalCall& call, size_t output, size_t input, std::vector<int64_t> dims,
                     int64_t start, const std::vector<int64_t>& strides,
                     const std::vector<int64_t>& loop_dims) {
  const Input& x = call.input(input);
  SLUICE_ASSIGN(const Output y, call.output_like(output, input, std::move(dims)));
  if (y.count == 0) return {};
  return visit_width(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    copy_at_strides(x.as<T>(), start, strides, loop_dims, y.as<T>());
    return {};
  });
}

std::vector<int64_t> permuted(std::span<const int64_t> values, const std::vector<int64_t>& order) {
  std::vector<int64_t> result;
  for (const int64_t axis : order) result.push_back(values[static_cast<size_t>(axis)]);
  return result;
}

// Computes a reshape to `split`, a transpose by `order` and a reshape to `dims`, which is how ONNX
// defines the ops on blocks of pixels.
Result<void> rearrange(EvalCall& call, const std::vector<int64_t>& split,
                       const std::vector<int64_t>& order, std::vector<int64_t> dims) {
  return strided(call, 0, 0, std::move(dims), 0, permuted(dense_strides(split), order),
                 permuted(split, order));
}

}  // namespace

Result<void> eval_transpose(EvalCall& call) {
  const Input& x = call.input(0);
  std::vector<int64_t> order = call.node.get(attributes::Transpose::perm);
  if (order.empty()) {
    order.resize(x.dims.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  std::vector<int64_t> sorted = order;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted.size() != x.dims.size() || sorted[i] != static_cast<int64_t>(i))
      return call.bad_value("perm is no permutation of {} axes", x.rank());
  }
  const auto dims = permuted(x.dims, order);
  return strided(call, 0, 0, dims, 0, permuted(dense_strides(x.dims), order), dims);
}

Result<void> eval_expand(EvalCall& call) {
  const Input& x = call.input(0);
  std::vector<int64_t> dims = call.ints(1);
  if (x.dims.size() > dims.size()) dims.insert(dims.begin(), x.dims.size() - dims.size(), 1);
  for (size_t i = 0; i < x.dims.size(); ++i) {
    int64_t& dim = dims[dims.size() - x.dims.size() + i];
    if (dim == 1) dim = x.dims[i];
  }
  if (!broadcasts_to(x.dims, dims))
    return call.bad_shape("{} cannot be expanded to {}", dims_text(x.dims), dims_text(dims));
  return strided(call, 0, 0, dims, 0, broadcast_strides(x.dims, dims), dims);
}

Result<void> eval_tile(EvalCall& call) {
  const Input& x = call.input(0);
  const std::vector<int64_t> repeats = call.ints(1);
  if (repeats.size() != x.dims.size())
    return call.bad_shape("{} repeats for a tensor of rank {}", repeats.size(), x.rank());
  const auto dense = dense_strides(x.dims);
  std::vector<int64_t> dims, loop_dims, strides;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    if (repeats[i] < 0) return call.bad_value("repeat {} is negative", i);
    dims.push_back(times(x.dims[i], repeats[i]));
    loop_dims.insert(loop_dims.end(), {repeats[i], x.dims[i]});
    strides.insert(strides.end(), {0, dense[i]});
  }
  return strided(call, 0, 0, dims, 0, strides, loop_dims);
}

Result<void> eval_slice(EvalCall& call) {
  const Input& x = call.input(0);
  const auto starts = call.ints(1);
  const auto ends = call.ints(2);
  std::vector<int64_t> axes = call.ints(3);
  std::vector<int64_t> steps = call.ints(4);
  if (!call.has(3)) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (!call.has(4)) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return call.bad_shape("starts, ends, axes and steps have different lengths");
  std::vector<int64_t> dims = to_vector(x.dims);
  std::vector<int64_t> strides = dense_strides(x.dims);
  int64_t offset = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    SLUICE_ASSIGN(const int64_t axis, call.axis(axes[i], x.rank()));
    const int64_t extent = x.dims[static_cast<size_t>(axis)];
    const int64_t step = steps[i];
    if (step == 0) return call.bad_value("the step along axis {} is zero", axis);
    const auto wrapped = [&](int64_t at) {
      return at < 0 ? (at < -extent ? -1 : at + extent) : at;
    };
    const bool forward = step > 0;
    const int64_t low = forward ? 0 : -1;
    const int64_t high = forward ? extent : extent - 1;
    const int64_t start = std::min(std::max<int64_t>(wrapped(starts[i]), 0), high);
    const int64_t end = std::clamp(wrapped(ends[i]), low, high);
    const int64_t distance = forward ? end - start : start - end;
    const uint64_t stride =
        forward ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
    const int64_t count =
        distance <= 0 ? 0
                      : static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride) + 1;
    offset += start * strides[static_cast<size_t>(axis)];
    dims[static_cast<size_t>(axis)] = count;
    strides[static_cast<size_t>(axis)] *= count > 1 ? step : 1;
  }
  return strided(call, 0, 0, dims, offset, strides, dims);
}

Result<void> eval_concat(EvalCall& call) {
  const Input& first = call.input(0);
  SLUICE_ASSIGN(const int64_t axis,
                call.axis(call.node.get(attributes::Concat::axis), first.rank()));
  std::vector<int64_t> dims = to_vector(first.dims);
  dims[static_cast<size_t>(axis)] = 0;
  for (size_t i = 0; i < call.input_count(); ++i) {
    const Input& x = call.input(i);
    std::vector<int64_t> other = to_vector(x.dims);
    if (other.size() == dims.size())
      other[static_cast<size_t>(axis)] = first.dims[static_cast<size_t>(axis)];
    if (!std::ranges::equal(other, first.dims) || x.logical != first.logical) {
      return call.bad_shape("inputs {}[{}] and {}[{}] cannot be joined along axis {}",
                            dtype_name(first.logical), dims_text(first.dims), dtype_name(x.logical),
                            dims_text(x.dims), axis);
    }
    int64_t& joined = dims[static_cast<size_t>(axis)];
    joined = plus(joined, x.dims[static_cast<size_t>(axis)]);
  }
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  if (y.count == 0) return {};
  const size_t width = static_cast<size_t>(dtype_bits(y.dtype)) / 8;
  const AxisSplit split(y.dims, axis);
  std::byte* to = y.data;
  for (int64_t outer = 0; outer < split.outer; ++outer) {
    for (size_t i = 0; i < call.input_count(); ++i) {
      const Input& x = call.input(i);
      const size_t run = static_cast<size_t>(x.count / split.outer) * width;
      if (run > 0) std::memcpy(to, x.data + static_cast<size_t>(outer) * run, run);
      to += run;
    }
  }
  return {};
}

// Returns the extents of the parts along an axis of `extent`: the given ones, or parts as equal as
// possible.
Result<std::vector<int64_t>> split_sizes(const EvalCall& call, int64_t extent) {
  std::vector<int64_t> sizes = call.ints(1);
  if (!call.has(1)) {
    const int64_t count = call.node.get(attributes::Split::num_outputs,
                                        static_cast<int64_t>(call.node.output_count()));
    const auto outputs = static_cast<int64_t>(call.node.output_count());
    if (count != outputs)
      return call.bad_value("num_outputs is {}, the node has {} outputs", count, outputs);
    if (!call.node.has(attributes::Split::num_outputs) && extent % count != 0)
      return call.bad_shape("{} elements cannot be split in {} equal pieces", extent, count);
    const int64_t size = (extent + count - 1) / count;
    if (extent < (count - 1) * size) return call.bad_shape("{}", split_mismatch(extent, count));
    sizes.assign(static_cast<size_t>(count), size);
    sizes.back() = extent - (count - 1) * size;
  }
  const bool negative = std::ranges::any_of(sizes, [](int64_t size) { return size < 0; });
  if (negative || std::accumulate(sizes.begin(), sizes.end(), int64_t{0}, plus) != extent) {
    return call.bad_shape("parts of {} do not fill an axis of {}", dims_text(sizes), extent);
  }
  return sizes;
}

Result<void> eval_split(EvalCall& call) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const int64_t axis, call.axis(call.node.get(attributes::Split::axis), x.rank()));
  SLUICE_ASSIGN(const auto sizes, split_sizes(call, x.dims[static_cast<size_t>(axis)]));
  if (sizes.size() != call.node.output_count())
    return call.bad_shape("{} parts for {} outputs", sizes.size(), call.node.output_count());
  const auto strides = dense_strides(x.dims);
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::vector<int64_t> dims = to_vector(x.dims);
    dims[static_cast<size_t>(axis)] = sizes[i];
    SLUICE_TRY(
        strided(call, i, 0, dims, start * strides[static_cast<size_t>(axis)], strides, dims));
    start += sizes[i];
  }
  return {};
}

Result<void> eval_depth_to_space(EvalCall& call) {
  const Input& x = call.input(0);
  const int64_t block = call.node.get(attributes::SpaceToDepth::blocksize);
  if (x.rank() != 4 || block < 1 || x.dims[1] % (block * block) != 0)
    return call.bad_shape("blocks of {} do not fit the input {}", block, dims_text(x.dims));
  const int64_t n = x.dims[0], c = x.dims[1] / (block * block), h = x.dims[2], w = x.dims[3];
  const std::vector<int64_t> dims = {n, c, h * block, w * block};
  if (call.node.get(attributes::DepthToSpace::mode) == "CRD")
    return rearrange(call, {n, c, block, block, h, w}, {0, 1, 4, 2, 5, 3}, dims);
  return rearrange(call, {n, block, block, c, h, w}, {0, 3, 4, 1, 5, 2}, dims);
}

Result<void> eval_space_to_depth(EvalCall& call) {
  const Input& x = call.input(0);
  const int64_t block = call.node.get(attributes::SpaceToDepth::blocksize);
  if (x.rank() != 4 || block < 1 || x.dims[2] % block != 0 || x.dims[3] % block != 0)
    return call.bad_shape("blocks of {} do not fit the input {}", block, dims_text(x.dims));
  const int64_t n = x.dims[0], c = x.dims[1], h = x.dims[2] / block, w = x.dims[3] / block;
  return rearrange(call, {n, c, h, block, w, block}, {0, 3, 5, 1, 2, 4},
                   {n, c * block * block, h, w});
}

namespace {

// Returns the source index of element `at` of a padded axis, or -1 for the constant.
int64_t pad_source(const std::string& mode, int64_t at, int64_t extent) {
  if (at >= 0 && at < extent) return at;
  if (mode == "constant" || extent == 0) return -1;
  if (mode == "edge") return std::clamp<int64_t>(at, 0, extent - 1);
  if (mode == "wrap") return (at % extent + extent) % extent;
  const int64_t period = std::max<int64_t>(2 * (extent - 1), 1);  // for mode reflect
  const int64_t folded = (at % period + period) % period;
  return folded < extent ? folded : period - folded;
}

template <typename T>
void gather_by_axis(const Input& x, const Output& y,
                    const std::vector<std::vector<int64_t>>& sources, T fill) {
  const auto strides = dense_strides(x.dims);
  const size_t rank = y.dims.size();
  std::vector<int64_t> index(rank, 0);
  const int64_t row = rank == 0 ? 1 : y.dims.back();
  for (int64_t out = 0; out < y.count; out += row) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t axis = 0; axis + 1 < rank; ++axis) {
      const int64_t source = sources[axis][static_cast<size_t>(index[axis])];
      inside = inside && source >= 0;
      offset += source * strides[axis];
    }
    for (int64_t i = 0; i < row; ++i) {
      const int64_t source = rank == 0 ? 0 : sources.back()[static_cast<size_t>(i)];
      y.as<T>()[out + i] = inside && source >= 0 ? x.as<T>()[offset + source] : fill;
    }
    for (size_t axis = rank < 2 ? 0 : rank - 1; axis-- > 0;) {
      if (++index[axis] < y.dims[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace

Result<void> eval_pad(EvalCall& call) {
  const Input& x = call.input(0);
  const auto pads = call.ints(1);
  const std::string mode = call.node.get(attributes::Pad::mode);
  std::vector<int64_t> axes = call.ints(3);
  if (!call.has(3)) {
    axes.resize(x.dims.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (pads.size() != 2 * axes.size())
    return call.bad_shape("{} pads for {} axes", pads.size(), axes.size());
  std::vector<int64_t> dims = to_vector(x.dims);
  std::vector<int64_t> before(dims.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    SLUICE_ASSIGN(const int64_t axis, call.axis(axes[i], x.rank()));
    before[static_cast<size_t>(axis)] = pads[i];
    int64_t& dim = dims[static_cast<size_t>(axis)];
    dim = plus(plus(dim, pads[i]), pads[axes.size() + i]);
  }
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  if (y.count == 0) return {};  // with a dim of 0 the others may be huge
  std::vector<std::vector<int64_t>> sources(dims.size());
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    for (int64_t i = 0; i < dims[axis]; ++i)
      sources[axis].push_back(pad_source(mode, i - before[axis], x.dims[axis]));
  }
  return visit_width(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    T fill{};
    if (call.input(2).count > 0 && call.input(2).dtype == x.dtype) fill = call.input(2).as<T>()[0];
    gather_by_axis<T>(x, y, sources, fill);
    return {};
  });
}

Result<void> eval_center_crop_pad(EvalCall& call) {
  const Input& x = call.input(0);
  const auto shape = call.ints(1);
  std::vector<int64_t> axes = call.node.get(attributes::CenterCropPad::axes);
  if (axes.empty()) {
    axes.resize(x.dims.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (axes.size() != shape.size())
    return call.bad_shape("{} extents for {} axes", shape.size(), axes.size());
  std::vector<int64_t> dims = to_vector(x.dims);
  for (size_t i = 0; i < axes.size(); ++i) {
    SLUICE_ASSIGN(const int64_t axis, call.axis(axes[i], x.rank()));
    dims[static_cast<size_t>(axis)] = shape[i];
  }
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  if (y.count == 0) return {};  // with a dim of 0 the others may be huge
  std::vector<std::vector<int64_t>> sources(dims.size());
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const int64_t extra = dims[axis] - x.dims[axis];
    const int64_t before = extra > 0 ? extra / 2 : -(-extra / 2);
    for (int64_t i = 0; i < dims[axis]; ++i)
      sources[axis].push_back(pad_source("constant", i - before, x.dims[axis]));
  }
  return visit_width(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    gather_by_axis<T>(x, y, sources, T{});
    return {};
  });
}

Result<void> eval_trilu(EvalCall& call) {
  const Input& x = call.input(0);
  if (x.rank() < 2) return call.bad_shape("the input has rank {}, expected at least 2", x.rank());
  const bool upper = call.node.get(attributes::Trilu::upper) != 0;
  const int64_t k = call.integer(1, 0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  const int64_t columns = x.dims.back();
  const int64_t rows = x.dims[x.dims.size() - 2];
  return visit_width(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t at = 0; at < x.count; ++at) {
      const int64_t distance = at % columns - at / columns % rows;
      const bool kept = upper ? distance >= k : distance <= k;
      y.as<T>()[at] = kept ? x.as<T>()[at] : T{};
    }
    return {};
  });
}

Result<void> eval_reverse_sequence(EvalCall& call) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const int64_t batch_axis,
                call.axis(call.node.get(attributes::ReverseSequence::batch_axis), x.rank()));
  SLUICE_ASSIGN(const int64_t time_axis,
                call.axis(call.node.get(attributes::ReverseSequence::time_axis), x.rank()));
  const auto lengths = call.ints(1);
  if (static_cast<int64_t>(lengths.size()) != x.dims[static_cast<size_t>(batch_axis)])
    return call.bad_shape("{} lengths for a batch of {}", lengths.size(),
                          x.dims[static_cast<size_t>(batch_axis)]);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  const auto strides = dense_strides(x.dims);
  const int64_t time_extent = x.dims[static_cast<size_t>(time_axis)];
  return visit_width(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t at = 0; at < x.count; ++at) {
      const int64_t batch =
          at / strides[static_cast<size_t>(batch_axis)] % x.dims[static_cast<size_t>(batch_axis)];
      const int64_t time = at / strides[static_cast<size_t>(time_axis)] % time_extent;
      const int64_t length =
          std::clamp<int64_t>(lengths[static_cast<size_t>(batch)], 0, time_extent);
      const int64_t source = time < length ? length - 1 - time : time;
      y.as<T>()[at] = x.as<T>()[at + (source - time) * strides[static_cast<size_t>(time_axis)]];
    }
    return {};
  });
}

}  // namespace sluice::eval
