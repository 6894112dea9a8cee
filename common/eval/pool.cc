// Pooling: rows of outputs are folded from lines of inputs, one tap of a whole row after the other.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/eval/window.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

// The output positions [first, last) along the innermost axis for which this tap is inside the
// input: position p reads line[p * stride + offset].
struct InnerTap {
  int64_t first = 0;
  int64_t last = 0;
  int64_t offset = 0;
};

// A row of outputs is computed from lines of inputs, one per tap of the outer axes. The lines are
// the same for every plane.
struct PoolShape {
  Window window;
  int64_t planes = 0;
  std::vector<int64_t> y;
  int64_t rows = 0;            // in one plane of the output
  int64_t width = 0;           // of one row, in elements
  int64_t stride = 1;          // in the input, along a row
  std::vector<int64_t> first;  // of row r: lines[first[r]] to lines[first[r + 1]]
  // Offsets of the lines inside the input, within a plane, in the order of the taps.
  std::vector<int64_t> lines;
  std::vector<InnerTap> inner;  // in the order of the taps

  std::span<const int64_t> lines_of(int64_t row) const {
    const auto at = static_cast<size_t>(row);
    return std::span(lines).subspan(static_cast<size_t>(first[at]),
                                    static_cast<size_t>(first[at + 1] - first[at]));
  }
};

// Returns the window without its innermost axis.
Window outer_window(const Window& window) {
  Window outer = window;
  for (auto* list : {&outer.in, &outer.kernel, &outer.strides, &outer.dilations, &outer.begin,
                     &outer.end, &outer.out})
    list->pop_back();
  return outer;
}

// Returns the taps that some position reads, for any size of the window: a tap that is in the
// padding for every position is skipped, with all taps up to the next one that can touch the input.
std::vector<InnerTap> inner_taps(const Window& window) {
  const int64_t in = window.in.back();
  const int64_t out = window.out.back();
  const int64_t stride = window.strides.back();
  const int64_t dilation = window.dilations.back();
  const int64_t begin = window.begin.back();
  std::vector<InnerTap> taps;
  int64_t k = std::max<int64_t>((begin - (out - 1) * stride) / dilation, 0);
  const int64_t end = std::min(window.kernel.back(), (in - 1 + begin) / dilation + 1);
  while (k < end) {
    InnerTap tap;
    tap.offset = k * dilation - begin;
    tap.first = tap.offset >= 0 ? 0 : (-tap.offset + stride - 1) / stride;
    tap.last = tap.offset >= in ? 0 : std::min(out, (in - 1 - tap.offset) / stride + 1);
    if (tap.first < tap.last) taps.push_back(tap);
    // The first element at or after the start of the input.
    const int64_t read = tap.first * stride + tap.offset;
    k += read < in ? 1 : std::max<int64_t>((stride - read + dilation - 1) / dilation, 1);
  }
  return taps;
}

Result<PoolShape> make_pool_shape(const EvalCall& call) {
  const Input& x = call.input(0);
  if (x.rank() < 3) return call.bad_shape("the input has rank {}, expected at least 3", x.rank());
  PoolShape shape;
  SLUICE_ASSIGN(shape.window, make_window(call, x.dims.subspan(2),
                                          call.node.get(attributes::Pool::kernel_shape)));
  shape.planes = x.dims[0] * x.dims[1];
  shape.y = {x.dims[0], x.dims[1]};
  shape.y.insert(shape.y.end(), shape.window.out.begin(), shape.window.out.end());
  const Window outer = outer_window(shape.window);
  shape.rows = outer.out_size();
  shape.width = shape.window.out.back();
  shape.stride = shape.window.strides.back();
  shape.inner = inner_taps(shape.window);
  shape.first.push_back(0);
  for (int64_t row = 0; row < shape.rows; ++row) {
    add_taps_inside(outer, row, shape.lines);
    shape.first.push_back(static_cast<int64_t>(shape.lines.size()));
  }
  for (int64_t& line : shape.lines) line *= shape.window.in.back();
  return shape;
}

// Computes row[p] = f(row[p], line[p * stride]) for n positions. The common strides are constants,
// so that the loop is vectorized.
template <int64_t kStride, typename Sum, typename T, typename F>
void fold_line(const T* __restrict line, int64_t stride, int64_t n, Sum* __restrict row, F f) {
  for (int64_t p = 0; p < n; ++p) row[p] = f(row[p], line[p * (kStride > 0 ? kStride : stride)]);
}

// Computes row[p] = f folded over the elements of window p in the order of its taps, from `start`.
template <typename Sum, typename T, typename F>
void fold_row(const PoolShape& shape, const T* plane, int64_t number, Sum start, Sum* row, F f) {
  std::fill_n(row, shape.width, start);
  for (const int64_t line : shape.lines_of(number)) {
    for (const InnerTap& tap : shape.inner) {
      const T* from = plane + line + tap.first * shape.stride + tap.offset;
      const int64_t n = tap.last - tap.first;
      if (shape.stride == 1) {
        fold_line<1>(from, 1, n, row + tap.first, f);
      } else if (shape.stride == 2) {
        fold_line<2>(from, 2, n, row + tap.first, f);
      } else {
        fold_line<0>(from, shape.stride, n, row + tap.first, f);
      }
    }
  }
}

// Calls each(elements of the plane, row of the plane, destination) for every row of the output.
template <typename T, typename F>
void for_each_pool_row(const PoolShape& shape, const Input& x, const Output& y, F each) {
  for (int64_t plane = 0; plane < shape.planes; ++plane) {
    const T* from = x.as<T>() + plane * shape.window.in_size();
    T* to = y.as<T>() + plane * shape.rows * shape.width;
    for (int64_t row = 0; row < shape.rows; ++row) each(from, row, to + row * shape.width);
  }
}

// Returns the first of the largest elements; the first NaN is larger than all others.
struct Largest {
  template <typename T>
  T operator()(T best, T value) const {
    return (!(value <= best) & (best == best)) ? value : best;
  }
};

// Returns the index of a tap within its plane when the plane's last two axes are counted column by
// column.
int64_t column_major(const Window& window, int64_t tap) {
  int64_t index = 0;
  int64_t scale = window.in_size();
  std::vector<int64_t> at(window.rank());
  for (size_t axis = window.rank(); axis-- > 0; tap /= window.in[axis])
    at[axis] = tap % window.in[axis];
  for (size_t axis = window.rank(); axis-- > 0;) {
    scale /= window.in[axis];
    index += at[axis] * scale;
  }
  return index;
}

// Returns the index within its plane of the element that MaxPool took for a window; 0 when the
// window is empty.
template <typename T>
int64_t find_largest(const PoolShape& shape, const T* plane, int64_t row, int64_t position) {
  int64_t best = -1;
  for (const int64_t line : shape.lines_of(row)) {
    for (const InnerTap& tap : shape.inner) {
      if (position < tap.first || position >= tap.last) continue;
      const int64_t at = line + position * shape.stride + tap.offset;
      if (best < 0 || (!(plane[at] <= plane[best]) && plane[best] == plane[best])) best = at;
    }
  }
  return std::max<int64_t>(best, 0);
}

template <typename T>
void write_indices(const PoolShape& shape, const Input& x, bool by_columns, int64_t* indices) {
  for (int64_t plane = 0; plane < shape.planes; ++plane) {
    const T* from = x.as<T>() + plane * shape.window.in_size();
    for (int64_t p = 0; p < shape.rows * shape.width; ++p) {
      const int64_t best = find_largest(shape, from, p / shape.width, p % shape.width);
      *indices++ =
          plane * shape.window.in_size() + (by_columns ? column_major(shape.window, best) : best);
    }
  }
}

// Returns the number of elements in each window: those inside the input, or also inside its
// padding.
std::vector<int64_t> window_counts(const PoolShape& shape, bool include_padding) {
  std::vector<int64_t> counts;
  for (int64_t row = 0; row < shape.rows; ++row) {
    for (int64_t p = 0; p < shape.width; ++p) {
      const auto inside = std::ranges::count_if(
          shape.inner, [p](const InnerTap& tap) { return p >= tap.first && p < tap.last; });
      counts.push_back(include_padding ? taps_inside_padding(shape.window, row * shape.width + p)
                                       : inside * static_cast<int64_t>(shape.lines_of(row).size()));
    }
  }
  return counts;
}

enum class GlobalKind { kAverage, kMax, kLp };

template <typename T>
T pool_all(GlobalKind kind, const T* x, int64_t count, int64_t p) {
  double sum = 0;
  T best = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    if (kind == GlobalKind::kAverage) sum += static_cast<double>(x[i]);
    if (kind == GlobalKind::kLp)
      sum += math::pow(std::abs(static_cast<double>(x[i])), static_cast<double>(p));
    if (kind == GlobalKind::kMax && !(x[i] <= best) && best == best) best = x[i];
  }
  if (kind == GlobalKind::kMax) return best;
  return static_cast<T>(kind == GlobalKind::kAverage
                            ? sum / static_cast<double>(count)
                            : math::pow(sum, 1.0 / static_cast<double>(p)));
}

Result<void> global_pool(EvalCall& call, GlobalKind kind) {
  const Input& x = call.input(0);
  if (x.rank() < 2) return call.bad_shape("the input has rank {}, expected at least 2", x.rank());
  std::vector<int64_t> dims(x.dims.begin(), x.dims.end());
  std::fill(dims.begin() + 2, dims.end(), 1);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  if (y.count == 0) return {};  // with a dim of 0 the others may be huge
  const int64_t size = y.count == 0 ? 0 : x.count / y.count;
  const int64_t p = call.node.get(attributes::GlobalLpPool::p);
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t plane = 0; plane < y.count; ++plane)
      y.as<T>()[plane] = pool_all(kind, x.as<T>() + plane * size, size, p);
    return {};
  });
}

}  // namespace

Result<void> eval_max_pool(EvalCall& call) {
  SLUICE_ASSIGN(const PoolShape shape, make_pool_shape(call));
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  Output indices;
  if (call.wants(1)) {
    SLUICE_ASSIGN(indices, call.output(1, DType::kI64, shape.y));
  }
  const bool by_columns = call.node.get(attributes::MaxPool::storage_order) != 0;
  const auto pool = [&]<typename T>(Tag<T>) -> Result<void> {
    constexpr T kLowest = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                      : std::numeric_limits<T>::lowest();
    for_each_pool_row<T>(shape, x, y, [&](const T* plane, int64_t row, T* to) {
      fold_row(shape, plane, row, kLowest, to, Largest());
    });
    if (call.wants(1)) write_indices<T>(shape, x, by_columns, indices.as<int64_t>());
    return {};
  };
  if (x.dtype == DType::kI8) return pool(Tag<int8_t>{});
  if (x.dtype == DType::kU8) return pool(Tag<uint8_t>{});
  return visit_float(call, x.dtype, pool);
}

// Sums in the type of the elements: the mean of quantized numbers is often a tie, and its rounding
// must not differ from the float32 computation of other implementations.
Result<void> eval_average_pool(EvalCall& call) {
  SLUICE_ASSIGN(const PoolShape shape, make_pool_shape(call));
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  if (y.count == 0) return {};  // beside a dim of 0 another may be of any length
  const auto counts =
      window_counts(shape, call.node.get(attributes::AveragePool::count_include_pad) != 0);
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for_each_pool_row<T>(shape, x, y, [&](const T* plane, int64_t row, T* to) {
      fold_row(shape, plane, row, T(0), to, [](T sum, T value) { return sum + value; });
      const int64_t* count = counts.data() + row * shape.width;
      for (int64_t p = 0; p < shape.width; ++p) to[p] /= static_cast<T>(count[p]);
    });
    return {};
  });
}

Result<void> eval_lp_pool(EvalCall& call) {
  SLUICE_ASSIGN(const PoolShape shape, make_pool_shape(call));
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  if (y.count == 0) return {};  // beside a dim of 0 another may be of any length
  const auto p = static_cast<double>(call.node.get(attributes::LpPool::p));
  std::vector<double> sums(static_cast<size_t>(shape.width));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for_each_pool_row<T>(shape, x, y, [&](const T* plane, int64_t row, T* to) {
      fold_row(shape, plane, row, 0.0, sums.data(), [p](double sum, T value) {
        return sum + math::pow(std::abs(static_cast<double>(value)), p);
      });
      for (const double sum : sums) *to++ = static_cast<T>(math::pow(sum, 1.0 / p));
    });
    return {};
  });
}

Result<void> eval_global_average_pool(EvalCall& call) {
  return global_pool(call, GlobalKind::kAverage);
}
Result<void> eval_global_max_pool(EvalCall& call) { return global_pool(call, GlobalKind::kMax); }
Result<void> eval_global_lp_pool(EvalCall& call) { return global_pool(call, GlobalKind::kLp); }

}  // namespace sluice::eval
