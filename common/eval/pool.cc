// Poolings: the taps of every output position are listed once and used for each plane.
#include <cmath>
#include <limits>
#include <vector>

#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/eval/window.h"

namespace sluice::eval {
namespace {

struct PoolShape {
  Window window;
  int64_t planes = 0;
  std::vector<int64_t> y;
  std::vector<int64_t> first;  // of position p: taps[first[p]] to taps[first[p + 1]]
  std::vector<int64_t> taps;   // those inside the input
};

Result<PoolShape> make_pool_shape(const EvalCall& call) {
  const Input& x = call.input(0);
  if (x.rank() < 3) return call.bad_shape("the input has rank {}, expected at least 3", x.rank());
  PoolShape shape;
  SLUICE_ASSIGN(shape.window, make_window(call, x.dims.subspan(2), call.node.ints_attribute("kernel_shape")));
  shape.planes = x.dims[0] * x.dims[1];
  shape.y = {x.dims[0], x.dims[1]};
  shape.y.insert(shape.y.end(), shape.window.out.begin(), shape.window.out.end());
  std::vector<int64_t> one(static_cast<size_t>(shape.window.taps()));
  shape.first.push_back(0);
  for (int64_t position = 0; position < shape.window.out_size(); ++position) {
    window_taps(shape.window, position, one.data());
    for (const int64_t tap : one) {
      if (tap >= 0) shape.taps.push_back(tap);
    }
    shape.first.push_back(static_cast<int64_t>(shape.taps.size()));
  }
  return shape;
}

// y[plane, position] = f(plane's elements, first tap, last tap, position)
template <typename T, typename F>
void pool_planes(const PoolShape& shape, const Input& x, const Output& y, F f) {
  const int64_t positions = shape.window.out_size();
  for (int64_t plane = 0; plane < shape.planes; ++plane) {
    const T* from = x.as<T>() + plane * shape.window.in_size();
    T* to = y.as<T>() + plane * positions;
    for (int64_t p = 0; p < positions; ++p) {
      to[p] =
          f(from, shape.taps.data() + shape.first[static_cast<size_t>(p)], shape.taps.data() + shape.first[static_cast<size_t>(p) + 1], p);
    }
  }
}

template <typename T>
const int64_t* largest(const T* plane, const int64_t* tap, const int64_t* last) {
  const int64_t* best = tap;
  for (; tap != last; ++tap) {
    if (plane[*tap] > plane[*best] || plane[*tap] != plane[*tap]) best = tap;  // NaN wins
    if (plane[*best] != plane[*best]) return best;
  }
  return best;
}

// The index of a tap within its plane when the plane's last two axes are counted column by column.
int64_t column_major(const Window& window, int64_t tap) {
  int64_t index = 0;
  int64_t scale = window.in_size();
  std::vector<int64_t> at(window.rank());
  for (size_t axis = window.rank(); axis-- > 0; tap /= window.in[axis]) at[axis] = tap % window.in[axis];
  for (size_t axis = window.rank(); axis-- > 0;) {
    scale /= window.in[axis];
    index += at[axis] * scale;
  }
  return index;
}

template <typename T>
void write_indices(const PoolShape& shape, const Input& x, bool by_columns, int64_t* indices) {
  for (int64_t plane = 0; plane < shape.planes; ++plane) {
    const T* from = x.as<T>() + plane * shape.window.in_size();
    for (int64_t p = 0; p < shape.window.out_size(); ++p) {
      const int64_t* tap = shape.taps.data() + shape.first[static_cast<size_t>(p)];
      const int64_t* end = shape.taps.data() + shape.first[static_cast<size_t>(p) + 1];
      const int64_t best = tap == end ? 0 : *largest(from, tap, end);
      *indices++ = plane * shape.window.in_size() + (by_columns ? column_major(shape.window, best) : best);
    }
  }
}

enum class GlobalKind { kAverage, kMax, kLp };

template <typename T>
T pool_all(GlobalKind kind, const T* x, int64_t count, int64_t p) {
  double sum = 0;
  T best = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    if (kind == GlobalKind::kAverage) sum += static_cast<double>(x[i]);
    if (kind == GlobalKind::kLp) sum += math::pow(std::abs(static_cast<double>(x[i])), static_cast<double>(p));
    if (kind == GlobalKind::kMax && !(x[i] <= best) && best == best) best = x[i];
  }
  if (kind == GlobalKind::kMax) return best;
  return static_cast<T>(kind == GlobalKind::kAverage ? sum / static_cast<double>(count) : math::pow(sum, 1.0 / static_cast<double>(p)));
}

Result<void> global_pool(EvalCall& call, GlobalKind kind) {
  const Input& x = call.input(0);
  if (x.rank() < 2) return call.bad_shape("the input has rank {}, expected at least 2", x.rank());
  std::vector<int64_t> dims(x.dims.begin(), x.dims.end());
  std::fill(dims.begin() + 2, dims.end(), 1);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  const int64_t size = y.count == 0 ? 0 : x.count / y.count;
  const int64_t p = call.node.int_attribute("p", 2);
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t plane = 0; plane < y.count; ++plane) y.as<T>()[plane] = pool_all(kind, x.as<T>() + plane * size, size, p);
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
  const bool by_columns = call.node.int_attribute("storage_order", 0) != 0;
  return visit_wide(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    T lowest = std::numeric_limits<T>::lowest();
    if constexpr (std::is_floating_point_v<T>) lowest = -std::numeric_limits<T>::infinity();
    pool_planes<T>(shape, x, y, [lowest](const T* plane, const int64_t* tap, const int64_t* end, int64_t) {
      return tap == end ? lowest : plane[*largest(plane, tap, end)];
    });
    if (call.wants(1)) write_indices<T>(shape, x, by_columns, indices.as<int64_t>());
    return {};
  });
}

// Sums in the type of the elements: the mean of quantized numbers is often a tie, and which way it falls must not differ from what others
// compute in float32.
Result<void> eval_average_pool(EvalCall& call) {
  SLUICE_ASSIGN(const PoolShape shape, make_pool_shape(call));
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  const bool include_padding = call.node.int_attribute("count_include_pad", 0) != 0;
  std::vector<int64_t> padded;
  for (int64_t p = 0; include_padding && p < shape.window.out_size(); ++p) padded.push_back(taps_inside_padding(shape.window, p));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    pool_planes<T>(shape, x, y, [&](const T* plane, const int64_t* tap, const int64_t* end, int64_t position) {
      const int64_t count = include_padding ? padded[static_cast<size_t>(position)] : end - tap;
      T sum = 0;
      for (; tap != end; ++tap) sum += plane[*tap];
      return sum / static_cast<T>(count);
    });
    return {};
  });
}

Result<void> eval_lp_pool(EvalCall& call) {
  SLUICE_ASSIGN(const PoolShape shape, make_pool_shape(call));
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  const auto p = static_cast<double>(call.node.int_attribute("p", 2));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    pool_planes<T>(shape, x, y, [p](const T* plane, const int64_t* tap, const int64_t* end, int64_t) {
      double sum = 0;
      for (; tap != end; ++tap) sum += math::pow(std::abs(static_cast<double>(plane[*tap])), p);
      return static_cast<T>(math::pow(sum, 1.0 / p));
    });
    return {};
  });
}

Result<void> eval_global_average_pool(EvalCall& call) { return global_pool(call, GlobalKind::kAverage); }
Result<void> eval_global_max_pool(EvalCall& call) { return global_pool(call, GlobalKind::kMax); }
Result<void> eval_global_lp_pool(EvalCall& call) { return global_pool(call, GlobalKind::kLp); }

}  // namespace sluice::eval
