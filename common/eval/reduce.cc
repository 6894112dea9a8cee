// Reductions, ArgMax and ArgMin, cumulative sums, TopK, Unique.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "common/eval/axes.h"
#include "common/eval/broadcast.h"
#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"

namespace sluice::eval {
namespace {

// The input's axes, reduced ones apart from kept ones, as a walk over lines of elements that are reduced together.
struct ReduceShape {
  std::vector<int64_t> y;        // dims of the result
  std::vector<int64_t> starts;   // of each line
  std::vector<int64_t> offsets;  // of each element of a line
};

std::vector<int64_t> all_offsets(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
  std::vector<int64_t> offsets(static_cast<size_t>(product(dims)));
  const auto plan = make_row_plan<1>(dims, {strides});
  for_each_row(plan, [&](int64_t out, const std::array<int64_t, 1>& at) {
    for (int64_t i = 0; i < plan.row(); ++i) offsets[static_cast<size_t>(out + i)] = at[0] + i * plan.stride(0);
  });
  return offsets;
}

ReduceShape make_reduce_shape(const Input& x, const std::vector<bool>& reduced, bool keep) {
  ReduceShape shape;
  const auto strides = dense_strides(x.dims);
  std::vector<int64_t> kept_dims, kept_strides, line_dims, line_strides;
  for (size_t axis = 0; axis < x.dims.size(); ++axis) {
    (reduced[axis] ? line_dims : kept_dims).push_back(x.dims[axis]);
    (reduced[axis] ? line_strides : kept_strides).push_back(strides[axis]);
    if (!reduced[axis]) shape.y.push_back(x.dims[axis]);
    if (reduced[axis] && keep) shape.y.push_back(1);
  }
  shape.starts = all_offsets(kept_dims, kept_strides);
  shape.offsets = all_offsets(line_dims, line_strides);
  return shape;
}

// Axes from input 1; without any, all of them, or none when noop_with_empty_axes says so.
Result<ReduceShape> reduce_shape(const EvalCall& call) {
  const Input& x = call.input(0);
  const auto axes = call.ints(1);
  const bool none = axes.empty() && call.node.int_attribute("noop_with_empty_axes", 0) != 0;
  std::vector<bool> reduced(x.dims.size(), axes.empty() && !none);
  for (const int64_t named : axes) {
    SLUICE_ASSIGN(const int64_t axis, call.axis(named, x.rank()));
    reduced[static_cast<size_t>(axis)] = true;
  }
  return make_reduce_shape(x, reduced, call.node.int_attribute("keepdims", 1) != 0);
}

// y = finish(sum over a line of term(x)), in float64 for floats and modulo 2^64 for integers.
template <typename Term, typename Finish>
Result<void> reduce_sum(EvalCall& call, Term term, Finish finish) {
  SLUICE_ASSIGN(const ReduceShape shape, reduce_shape(call));
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  return visit_number(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    for (size_t line = 0; line < shape.starts.size(); ++line) {
      const T* from = x.as<T>() + shape.starts[line];
      Sum sum = 0;
      for (const int64_t offset : shape.offsets) sum += term(static_cast<Sum>(from[offset]));
      if constexpr (std::is_floating_point_v<T>) {
        y.as<T>()[line] = static_cast<T>(finish(sum, static_cast<double>(shape.offsets.size())));
      } else {
        const auto whole = static_cast<double>(static_cast<int64_t>(sum));
        const double finished = finish(whole, static_cast<double>(shape.offsets.size()));
        y.as<T>()[line] = finished == whole ? static_cast<T>(sum) : static_cast<T>(static_cast<int64_t>(finished));
      }
    }
    return {};
  });
}

// y = f folded over a line from `first`
template <typename First, typename F>
Result<void> reduce_fold(EvalCall& call, First first, F f) {
  SLUICE_ASSIGN(const ReduceShape shape, reduce_shape(call));
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  return visit_number(call, x.dtype == DType::kBool ? DType::kU8 : x.dtype, [&]<typename T>(Tag<T> tag) -> Result<void> {
    for (size_t line = 0; line < shape.starts.size(); ++line) {
      const T* from = x.as<T>() + shape.starts[line];
      T value = first(tag, x.dtype == DType::kBool);
      for (const int64_t offset : shape.offsets) value = f(value, from[offset]);
      y.as<T>()[line] = value;
    }
    return {};
  });
}

template <typename T>
T absolute(T x) {
  if constexpr (std::is_unsigned_v<T>) {
    return static_cast<int64_t>(x) < 0 ? T(0) - x : x;
  } else {
    return std::abs(x);
  }
}

Result<void> arg_best(EvalCall& call, bool largest) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const int64_t axis, call.axis(call.node.int_attribute("axis", 0), x.rank()));
  const bool last = call.node.int_attribute("select_last_index", 0) != 0;
  std::vector<bool> reduced(x.dims.size(), false);
  reduced[static_cast<size_t>(axis)] = true;
  const ReduceShape shape = make_reduce_shape(x, reduced, call.node.int_attribute("keepdims", 1) != 0);
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kI64, shape.y));
  if (shape.offsets.empty() && y.count > 0) return call.bad_shape("axis {} has no elements", axis);
  return visit_number(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (size_t line = 0; line < shape.starts.size(); ++line) {
      const T* from = x.as<T>() + shape.starts[line];
      size_t best = 0;
      for (size_t i = 1; i < shape.offsets.size(); ++i) {
        const T value = from[shape.offsets[i]];
        const T found = from[shape.offsets[best]];
        const bool better = largest ? value > found : value < found;
        if (better || (last && value == found)) best = i;
      }
      y.as<int64_t>()[line] = static_cast<int64_t>(best);
    }
    return {};
  });
}

template <typename F>
Result<void> cumulate(EvalCall& call, int first, F f) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const int64_t axis, call.axis(call.integer(1, 0), x.rank()));
  const bool exclusive = call.node.int_attribute("exclusive", 0) != 0;
  const bool reverse = call.node.int_attribute("reverse", 0) != 0;
  const AxisSplit split(x.dims, axis);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  return visit_number(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t line = 0; line < split.outer * split.inner; ++line) {
      const int64_t start = line / split.inner * split.count * split.inner + line % split.inner;
      T sum = static_cast<T>(first);
      for (int64_t i = 0; i < split.count; ++i) {
        const int64_t at = start + (reverse ? split.count - 1 - i : i) * split.inner;
        const T before = sum;
        sum = f(sum, x.as<T>()[at]);
        y.as<T>()[at] = exclusive ? before : sum;
      }
    }
    return {};
  });
}

// Like <, with NaN above everything.
template <typename T>
bool below(T a, T b) {
  return a < b || (b != b && a == a);
}

}  // namespace

Result<void> eval_reduce_sum(EvalCall& call) {
  return reduce_sum(call, [](auto x) { return x; }, [](double sum, double) { return sum; });
}
Result<void> eval_reduce_mean(EvalCall& call) {
  return reduce_sum(call, [](auto x) { return x; }, [](double sum, double n) { return sum / n; });
}
Result<void> eval_reduce_l1(EvalCall& call) {
  return reduce_sum(call, [](auto x) { return absolute(x); }, [](double sum, double) { return sum; });
}
Result<void> eval_reduce_l2(EvalCall& call) {
  return reduce_sum(call, [](auto x) { return x * x; }, [](double sum, double) { return std::sqrt(sum); });
}
Result<void> eval_reduce_sum_square(EvalCall& call) {
  return reduce_sum(call, [](auto x) { return x * x; }, [](double sum, double) { return sum; });
}
Result<void> eval_reduce_log_sum(EvalCall& call) {
  return reduce_sum(call, [](auto x) { return x; }, [](double sum, double) { return math::log(sum); });
}

Result<void> eval_reduce_log_sum_exp(EvalCall& call) {
  SLUICE_ASSIGN(const ReduceShape shape, reduce_shape(call));
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (size_t line = 0; line < shape.starts.size(); ++line) {
      const T* from = x.as<T>() + shape.starts[line];
      double top = -std::numeric_limits<double>::infinity();
      for (const int64_t offset : shape.offsets) top = std::max(top, static_cast<double>(from[offset]));
      double sum = 0;
      const double shift = std::isfinite(top) ? top : 0;
      for (const int64_t offset : shape.offsets) sum += math::exp(static_cast<double>(from[offset]) - shift);
      y.as<T>()[line] = static_cast<T>(math::log(sum) + shift);
    }
    return {};
  });
}

// (x - mean) / (standard deviation + 1e-9) over the axes.
Result<void> eval_mean_variance_normalization(EvalCall& call) {
  const Input& x = call.input(0);
  std::vector<int64_t> axes = call.node.ints_attribute("axes");
  if (axes.empty()) axes = {0, 2, 3};
  std::vector<bool> reduced(x.dims.size(), false);
  for (const int64_t named : axes) {
    SLUICE_ASSIGN(const int64_t axis, call.axis(named, x.rank()));
    reduced[static_cast<size_t>(axis)] = true;
  }
  const ReduceShape shape = make_reduce_shape(x, reduced, true);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (const int64_t start : shape.starts) {
      const T* from = x.as<T>() + start;
      const auto count = static_cast<double>(shape.offsets.size());
      double mean = 0, variance = 0;
      for (const int64_t offset : shape.offsets) mean += static_cast<double>(from[offset]) / count;
      for (const int64_t offset : shape.offsets)
        variance += (static_cast<double>(from[offset]) - mean) * (static_cast<double>(from[offset]) - mean) / count;
      for (const int64_t offset : shape.offsets)
        y.as<T>()[start + offset] = static_cast<T>((static_cast<double>(from[offset]) - mean) / (std::sqrt(variance) + 1e-9));
    }
    return {};
  });
}

Result<void> eval_reduce_max(EvalCall& call) {
  const auto first = []<typename T>(Tag<T>, bool) {
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  };
  return reduce_fold(call, first, [](auto a, auto b) { return a > b || a != a ? a : b; });
}
Result<void> eval_reduce_min(EvalCall& call) {
  const auto first = []<typename T>(Tag<T>, bool is_bool) {
    if (is_bool) return T(1);
    return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  };
  return reduce_fold(call, first, [](auto a, auto b) { return a < b || a != a ? a : b; });
}
Result<void> eval_reduce_prod(EvalCall& call) {
  const auto first = []<typename T>(Tag<T>, bool) { return T(1); };
  return reduce_fold(call, first, []<typename T>(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a * b;
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  });
}

Result<void> eval_arg_max(EvalCall& call) { return arg_best(call, true); }
Result<void> eval_arg_min(EvalCall& call) { return arg_best(call, false); }

Result<void> eval_cum_sum(EvalCall& call) {
  return cumulate(call, 0, []<typename T>(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a + b;
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  });
}
Result<void> eval_cum_prod(EvalCall& call) {
  return cumulate(call, 1, []<typename T>(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a * b;
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  });
}

// Sorted, equal elements in the order of their indices.
Result<void> eval_top_k(EvalCall& call) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const int64_t axis, call.axis(call.node.int_attribute("axis", -1), x.rank()));
  const AxisSplit split(x.dims, axis);
  const int64_t k = call.integer(1, 0);
  if (k < 0 || k > split.count) return call.bad_value("k is {}, the axis has {} elements", k, split.count);
  const bool largest = call.node.int_attribute("largest", 1) != 0;
  std::vector<int64_t> dims = to_vector(x.dims);
  dims[static_cast<size_t>(axis)] = k;
  SLUICE_ASSIGN(const Output values, call.output_like(0, 0, dims));
  SLUICE_ASSIGN(const Output indices, call.output(1, DType::kI64, dims));
  return visit_number(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    std::vector<int64_t> order(static_cast<size_t>(split.count));
    for (int64_t line = 0; line < split.outer * split.inner; ++line) {
      const int64_t outer = line / split.inner;
      const int64_t inner = line % split.inner;
      const T* from = x.as<T>() + outer * split.count * split.inner + inner;
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
        const T left = from[a * split.inner];
        const T right = from[b * split.inner];
        return largest ? below(right, left) : below(left, right);
      });
      for (int64_t i = 0; i < k; ++i) {
        const int64_t to = (outer * k + i) * split.inner + inner;
        values.as<T>()[to] = from[order[static_cast<size_t>(i)] * split.inner];
        indices.as<int64_t>()[to] = order[static_cast<size_t>(i)];
      }
    }
    return {};
  });
}

// Unique slices along an axis, or elements of the flat tensor.
Result<void> eval_unique(EvalCall& call) {
  const Input& x = call.input(0);
  const bool flat = call.node.find_attribute("axis") == nullptr;
  const std::vector<int64_t> line = {x.count};
  int64_t axis = 0;
  if (!flat) {
    SLUICE_ASSIGN(axis, call.axis(call.node.int_attribute("axis", 0), x.rank()));
  }
  const AxisSplit split(flat ? std::span<const int64_t>(line) : x.dims, axis);
  const bool sorted = call.node.int_attribute("sorted", 1) != 0;
  return visit_number(call, x.dtype == DType::kBool ? DType::kU8 : x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    std::map<std::vector<T>, size_t> known;  // slice to number in order of first appearance
    std::vector<std::vector<T>> slices;
    std::vector<int64_t> firsts, counts;
    std::vector<size_t> inverse;
    for (int64_t i = 0; i < split.count; ++i) {
      std::vector<T> slice;
      for (int64_t k = 0; k < split.outer * split.inner; ++k) {
        slice.push_back(x.as<T>()[(k / split.inner * split.count + i) * split.inner + k % split.inner]);
      }
      const auto [found, is_new] = known.emplace(slice, slices.size());
      if (is_new) {
        slices.push_back(std::move(slice));
        firsts.push_back(i);
        counts.push_back(0);
      }
      ++counts[found->second];
      inverse.push_back(found->second);
    }
    std::vector<size_t> order;
    for (const auto& [slice, number] : known) order.push_back(number);
    if (!sorted) std::iota(order.begin(), order.end(), size_t{0});
    const auto count = static_cast<int64_t>(order.size());
    std::vector<int64_t> dims = flat ? std::vector<int64_t>{count} : to_vector(x.dims);
    dims[static_cast<size_t>(axis)] = count;
    SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
    std::vector<int64_t> place(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = static_cast<int64_t>(i);
      for (int64_t k = 0; k < split.outer * split.inner; ++k) {
        y.as<T>()[(k / split.inner * count + static_cast<int64_t>(i)) * split.inner + k % split.inner] =
            slices[order[i]][static_cast<size_t>(k)];
      }
    }
    SLUICE_ASSIGN(const Output first, call.output(1, DType::kI64, {count}));
    SLUICE_ASSIGN(const Output back, call.output(2, DType::kI64, {split.count}));
    SLUICE_ASSIGN(const Output often, call.output(3, DType::kI64, {count}));
    for (size_t i = 0; i < order.size(); ++i) {
      first.as<int64_t>()[i] = firsts[order[i]];
      often.as<int64_t>()[i] = counts[order[i]];
    }
    for (size_t i = 0; i < inverse.size(); ++i) back.as<int64_t>()[i] = place[inverse[i]];
    return {};
  });
}

}  // namespace sluice::eval
