// Reductions, ArgMax and ArgMin, cumulative sums, TopK, Unique.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "common/eval/axes.h"
#include "common/eval/broadcast.h"
#include "common/eval/dispatch.h"
#include "common/eval/elementwise.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

// The input's axes, split into reduced and kept ones, as a traversal of lines of elements that are
// reduced together.
struct ReduceShape {
  std::vector<int64_t> y;        // dims of the result
  std::vector<int64_t> starts;   // of each line
  std::vector<int64_t> offsets;  // of each element of a line
};

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

// Returns the shape for the axes from input 1. Without axes it reduces all of them, or none when
// noop_with_empty_axes is set.
Result<ReduceShape> reduce_shape(const EvalCall& call) {
  const Input& x = call.input(0);
  const auto axes = call.ints(1);
  const bool none = axes.empty() && call.node.get(attributes::Reduce::noop_with_empty_axes) != 0;
  std::vector<bool> reduced(x.dims.size(), axes.empty() && !none);
  for (const int64_t named : axes) {
    SLUICE_ASSIGN(const int64_t axis, call.axis(named, x.rank()));
    reduced[static_cast<size_t>(axis)] = true;
  }
  return make_reduce_shape(x, reduced, call.node.get(attributes::Reduce::keepdims) != 0);
}

// Computes for every line the sum of term(x), modulo 2^64 for integers.
template <typename T, typename Sum, typename Term>
std::vector<Sum> line_sums(const ReduceShape& shape, const Input& x, Term term) {
  std::vector<Sum> sums(shape.starts.size());
  const int64_t* offsets = shape.offsets.data();
  const size_t n = shape.offsets.size();
  for (size_t line = 0; line < sums.size(); ++line) {
    const T* from = x.as<T>() + shape.starts[line];
    Sum sum = 0;
    for (size_t i = 0; i < n; ++i) sum += term(static_cast<Sum>(from[offsets[i]]));
    sums[line] = sum;
  }
  return sums;
}

// Computes the result from a line's sum and length.
using Finish = double (*)(double sum, double n);

void finish_floats(std::vector<double> sums, double n, Finish finish, const Output& y) {
  for (double& sum : sums) sum = finish(sum, n);
  store_doubles(y.dtype, y.data, 0, y.count, sums.data());
}

void finish_integers(const std::vector<uint64_t>& sums, double n, Finish finish, const Output& y) {
  for (size_t line = 0; line < sums.size(); ++line) {
    const auto sum = static_cast<int64_t>(sums[line]);
    const auto whole = static_cast<double>(sum);
    const double finished = finish(whole, n);
    y.as<int64_t>()[line] = finished == whole ? sum : static_cast<int64_t>(finished);
  }
}

// Computes y = finish(sum over a line of term(x)), in float64 for floats. Integers are promoted to
// i64 or u64, which are equivalent here.
template <typename Term>
Result<void> reduce_sum(EvalCall& call, Term term, Finish finish) {
  SLUICE_ASSIGN(const ReduceShape shape, reduce_shape(call));
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  const auto n = static_cast<double>(shape.offsets.size());
  const DType as = number_class(x.dtype);
  if (as == DType::kUndefined || x.logical == DType::kBool) return call.unsupported(x.logical);
  if (as == DType::kF32) {
    finish_floats(line_sums<float, double>(shape, x, term), n, finish, y);
  } else if (as == DType::kF64) {
    finish_floats(line_sums<double, double>(shape, x, term), n, finish, y);
  } else {
    finish_integers(line_sums<int64_t, uint64_t>(shape, x, term), n, finish, y);
  }
  return {};
}

double keep_sum(double sum, double) { return sum; }

struct Itself {
  template <typename T>
  T operator()(T x) const {
    return x;
  }
};
struct Square {
  template <typename T>
  T operator()(T x) const {
    return x * x;
  }
};
struct Absolute {
  double operator()(double x) const { return std::abs(x); }
  uint64_t operator()(uint64_t x) const {
    return static_cast<int64_t>(x) < 0 ? uint64_t{0} - x : x;
  }
};

// Computes y = f folded over a line from `first`.
template <typename T, typename F>
Result<void> fold_lines(const ReduceShape& shape, const Input& x, const Output& y, T first, F f) {
  for (size_t line = 0; line < shape.starts.size(); ++line) {
    const T* from = x.as<T>() + shape.starts[line];
    T value = first;
    for (const int64_t offset : shape.offsets) value = f(value, from[offset]);
    y.as<T>()[line] = value;
  }
  return {};
}

// Returns the end of a type's range that every element replaces. bool has two values.
template <typename T>
T farthest(DType dtype, bool largest) {
  if constexpr (std::is_floating_point_v<T>) {
    const T infinity = std::numeric_limits<T>::infinity();
    return largest ? infinity : -infinity;
  } else {
    if (dtype == DType::kBool) return largest ? 1 : 0;
    const int value_bits = dtype_bits(dtype) - (dtype_is_signed(dtype) ? 1 : 0);
    const uint64_t top = value_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << value_bits) - 1;
    if (largest) return static_cast<T>(top);
    return dtype_is_signed(dtype) ? static_cast<T>(~top) : T(0);
  }
}

template <typename F>
Result<void> reduce_best(EvalCall& call, bool smallest, F f) {
  SLUICE_ASSIGN(const ReduceShape shape, reduce_shape(call));
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  return visit_wide(call, x.dtype, [&]<typename T>(Tag<T>) {
    return fold_lines<T>(shape, x, y, farthest<T>(x.logical, smallest), f);
  });
}

template <typename T>
void find_best(const ReduceShape& shape, const Input& x, bool largest, bool last, int64_t* found) {
  for (const int64_t start : shape.starts) {
    const T* from = x.as<T>() + start;
    size_t best = 0;
    for (size_t i = 1; i < shape.offsets.size(); ++i) {
      const T value = from[shape.offsets[i]];
      const T top = from[shape.offsets[best]];
      const bool better = largest ? value > top : value < top;
      if (better || (last && value == top)) best = i;
    }
    *found++ = static_cast<int64_t>(best);
  }
}

Result<void> arg_best(EvalCall& call, bool largest) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const int64_t axis, call.axis(call.node.get(attributes::ArgMax::axis), x.rank()));
  const bool last = call.node.get(attributes::ArgMax::select_last_index) != 0;
  std::vector<bool> reduced(x.dims.size(), false);
  reduced[static_cast<size_t>(axis)] = true;
  const ReduceShape shape =
      make_reduce_shape(x, reduced, call.node.get(attributes::ArgMax::keepdims) != 0);
  SLUICE_ASSIGN(const Output y, call.output(0, DType::kI64, shape.y));
  if (shape.offsets.empty() && y.count > 0) return call.bad_shape("axis {} has no elements", axis);
  return visit_wide(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    find_best<T>(shape, x, largest, last, y.as<int64_t>());
    return {};
  });
}

template <typename F>
Result<void> cumulate(EvalCall& call, int first, F f) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const int64_t axis, call.axis(call.integer(1, 0), x.rank()));
  const bool exclusive = call.node.get(attributes::CumSum::exclusive) != 0;
  const bool reverse = call.node.get(attributes::CumSum::reverse) != 0;
  const AxisSplit split(x.dims, axis);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  return visit_product(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
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

Result<std::vector<int64_t>> order_keys(const EvalCall& call, const Input& x) {
  if (number_class(x.dtype) == DType::kUndefined && x.dtype != DType::kBool)
    return call.unsupported(x.dtype);
  std::vector<int64_t> keys(static_cast<size_t>(x.count));
  load_order_keys(x.dtype, x.data, 0, x.count, keys.data());
  return keys;
}

// The distinct slices along an axis, numbered in the order of their first occurrence.
struct UniqueSlices {
  std::vector<int64_t> firsts;  // by number
  std::vector<int64_t> counts;
  std::vector<size_t> inverse;  // the number of each slice
  std::vector<size_t> order;    // numbers in the order of the result
};

UniqueSlices find_unique(const std::vector<int64_t>& keys, const AxisSplit& split, bool sorted) {
  UniqueSlices unique;
  std::map<std::vector<int64_t>, size_t> known;
  for (int64_t i = 0; i < split.count; ++i) {
    std::vector<int64_t> slice;
    for (int64_t k = 0; k < split.outer * split.inner; ++k) {
      slice.push_back(keys[static_cast<size_t>((k / split.inner * split.count + i) * split.inner +
                                               k % split.inner)]);
    }
    const auto [found, is_new] = known.emplace(std::move(slice), known.size());
    if (is_new) {
      unique.firsts.push_back(i);
      unique.counts.push_back(0);
    }
    ++unique.counts[found->second];
    unique.inverse.push_back(found->second);
  }
  for (const auto& [slice, number] : known) unique.order.push_back(number);
  if (!sorted) std::iota(unique.order.begin(), unique.order.end(), size_t{0});
  return unique;
}

}  // namespace

Result<void> eval_reduce_sum(EvalCall& call) { return reduce_sum(call, Itself(), keep_sum); }
Result<void> eval_reduce_mean(EvalCall& call) {
  return reduce_sum(call, Itself(), [](double sum, double n) { return sum / n; });
}
Result<void> eval_reduce_l1(EvalCall& call) {
  if (call.input(0).dtype == DType::kU64) return reduce_sum(call, Itself(), keep_sum);
  return reduce_sum(call, Absolute(), keep_sum);
}
Result<void> eval_reduce_l2(EvalCall& call) {
  return reduce_sum(call, Square(), [](double sum, double) { return std::sqrt(sum); });
}
Result<void> eval_reduce_sum_square(EvalCall& call) { return reduce_sum(call, Square(), keep_sum); }
Result<void> eval_reduce_log_sum(EvalCall& call) {
  return reduce_sum(call, Itself(), [](double sum, double) { return math::log(sum); });
}

Result<void> eval_reduce_log_sum_exp(EvalCall& call) {
  SLUICE_ASSIGN(const ReduceShape shape, reduce_shape(call));
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  return visit_wide(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (size_t line = 0; line < shape.starts.size(); ++line) {
      const T* from = x.as<T>() + shape.starts[line];
      double top = -std::numeric_limits<double>::infinity();
      for (const int64_t offset : shape.offsets)
        top = std::max(top, static_cast<double>(from[offset]));
      double sum = 0;
      const double shift = std::isfinite(top) ? top : 0;
      for (const int64_t offset : shape.offsets)
        sum += math::exp(static_cast<double>(from[offset]) - shift);
      y.as<T>()[line] = element_of<T>(math::log(sum) + shift);
    }
    return {};
  });
}

// Computes (x - mean) / (standard deviation + 1e-9) over the axes.
Result<void> eval_mean_variance_normalization(EvalCall& call) {
  const Input& x = call.input(0);
  std::vector<int64_t> axes = call.node.get(attributes::MeanVarianceNormalization::axes);
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
        variance += (static_cast<double>(from[offset]) - mean) *
                    (static_cast<double>(from[offset]) - mean) / count;
      for (const int64_t offset : shape.offsets)
        y.as<T>()[start + offset] = static_cast<T>((static_cast<double>(from[offset]) - mean) /
                                                   (std::sqrt(variance) + 1e-9));
    }
    return {};
  });
}

Result<void> eval_reduce_max(EvalCall& call) {
  return reduce_best(call, false, [](auto a, auto b) { return a > b || a != a ? a : b; });
}
Result<void> eval_reduce_min(EvalCall& call) {
  return reduce_best(call, true, [](auto a, auto b) { return a < b || a != a ? a : b; });
}
Result<void> eval_reduce_prod(EvalCall& call) {
  SLUICE_ASSIGN(const ReduceShape shape, reduce_shape(call));
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  return visit_product(call, x.dtype, [&]<typename T>(Tag<T>) {
    return fold_lines<T>(shape, x, y, T(1), [](T a, T b) { return static_cast<T>(a * b); });
  });
}

Result<void> eval_arg_max(EvalCall& call) { return arg_best(call, true); }
Result<void> eval_arg_min(EvalCall& call) { return arg_best(call, false); }

Result<void> eval_cum_sum(EvalCall& call) {
  return cumulate(call, 0, [](auto a, auto b) { return a + b; });
}
Result<void> eval_cum_prod(EvalCall& call) {
  return cumulate(call, 1, [](auto a, auto b) { return a * b; });
}

namespace {

struct Ranked {
  int64_t key;  // larger is better
  int64_t index;
  bool operator<(const Ranked& other) const {
    return key != other.key ? key < other.key : index > other.index;
  }
};

// Keeps the best k of what it is offered, with increasing indices: a heap whose top is the worst.
class BestRanked {
 public:
  explicit BestRanked(int64_t k) : k_(static_cast<size_t>(k)) {}

  void clear() { heap_.clear(); }
  // Offers `count` elements, the first of which has this index; their keys lie `stride` apart.
  // order: 0, or -1 where small keys are better.
  void offer(const int64_t* keys, int64_t stride, int64_t first, int64_t count, int64_t order) {
    int64_t i = 0;
    for (; i < count && heap_.size() < k_; ++i) {
      heap_.push_back({keys[i * stride] ^ order, first + i});
      if (heap_.size() == k_) std::ranges::make_heap(heap_, better);
    }
    if (k_ == 0) return;
    for (; i < count; ++i) {
      const int64_t key = keys[i * stride] ^ order;
      if (key <= heap_.front().key) continue;
      std::ranges::pop_heap(heap_, better);
      heap_.back() = {key, first + i};
      std::ranges::push_heap(heap_, better);
    }
  }
  bool is_full() const { return heap_.size() == k_ && k_ > 0; }
  int64_t worst() const { return heap_.front().index; }
  // The best first.
  std::span<const Ranked> sorted() {
    std::ranges::sort(heap_, better);
    return heap_;
  }

 private:
  static bool better(const Ranked& a, const Ranked& b) { return b < a; }
  size_t k_;
  std::vector<Ranked> heap_;
};

// Whether one of the numbers is better than `worst`, or NaN.
bool any_better(std::span<const float> numbers, float worst, bool largest) {
  int found = 0;
  if (largest) {
    for (const float number : numbers) found |= !(number <= worst);
  } else {
    for (const float number : numbers) found |= !(number >= worst);
  }
  return found != 0;
}

}  // namespace

// Computes TopK, sorted; equal elements are in the order of their indices.
Result<void> eval_top_k(EvalCall& call) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const int64_t axis, call.axis(call.node.get(attributes::TopK::axis), x.rank()));
  const AxisSplit split(x.dims, axis);
  const int64_t k = call.integer(1, 0);
  if (k < 0 || k > split.count)
    return call.bad_value("k is {}, the axis has {} elements", k, split.count);
  if (number_class(x.dtype) == DType::kUndefined && x.dtype != DType::kBool)
    return call.unsupported(x.dtype);
  const int64_t order = call.node.get(attributes::TopK::largest) != 0 ? 0 : -1;
  std::vector<int64_t> dims = to_vector(x.dims);
  dims[static_cast<size_t>(axis)] = k;
  SLUICE_ASSIGN(const Output values, call.output_like(0, 0, dims));
  SLUICE_ASSIGN(const Output indices, call.output(1, DType::kI64, dims));
  const auto width = static_cast<size_t>(dtype_bits(x.dtype)) / 8;
  // Keys of a line whose elements are neighbours are made piece by piece, so that they stay in the
  // cache; others all at once.
  const int64_t piece = split.inner == 1 ? 128 : split.count;
  std::vector<int64_t> keys(static_cast<size_t>(split.inner == 1 ? piece : x.count));
  if (split.inner != 1) load_order_keys(x.dtype, x.data, 0, x.count, keys.data());
  BestRanked best(k);
  for (int64_t line = 0; line < split.outer * split.inner; ++line) {
    const int64_t outer = line / split.inner, inner = line % split.inner;
    const int64_t start = outer * split.count * split.inner + inner;
    best.clear();
    for (int64_t first = 0; first < split.count; first += piece) {
      const int64_t count = std::min(piece, split.count - first);
      if (split.inner == 1) {
        if (x.dtype == DType::kF32 && best.is_full()) {
          const float* line_data = x.as<float>() + start;
          const std::span numbers(line_data + first, static_cast<size_t>(count));
          if (!any_better(numbers, line_data[best.worst()], order == 0)) continue;
        }
        load_order_keys(x.dtype, x.data, start + first, count, keys.data());
      }
      best.offer(split.inner == 1 ? keys.data() : &keys[static_cast<size_t>(start)], split.inner,
                 first, count, order);
    }
    int64_t rank = 0;
    for (const Ranked& ranked : best.sorted()) {
      const auto to = static_cast<size_t>((outer * k + rank++) * split.inner + inner);
      const auto from = static_cast<size_t>(start + ranked.index * split.inner);
      std::memcpy(values.data + to * width, x.data + from * width, width);
      indices.as<int64_t>()[to] = ranked.index;
    }
  }
  return {};
}

// Computes Unique of slices along an axis, or of elements of the flat tensor.
Result<void> eval_unique(EvalCall& call) {
  const Input& x = call.input(0);
  const bool flat = !call.node.has(attributes::Unique::axis);
  const std::vector<int64_t> line = {x.count};
  int64_t axis = 0;
  if (!flat) {
    SLUICE_ASSIGN(axis, call.axis(call.node.get(attributes::Unique::axis), x.rank()));
  }
  const AxisSplit split(flat ? std::span<const int64_t>(line) : x.dims, axis);
  SLUICE_ASSIGN(const auto keys, order_keys(call, x));
  const UniqueSlices unique =
      find_unique(keys, split, call.node.get(attributes::Unique::sorted) != 0);
  const auto count = static_cast<int64_t>(unique.order.size());
  std::vector<int64_t> dims = flat ? std::vector<int64_t>{count} : to_vector(x.dims);
  dims[static_cast<size_t>(axis)] = count;
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  SLUICE_ASSIGN(const Output first, call.output(1, DType::kI64, {count}));
  SLUICE_ASSIGN(const Output back, call.output(2, DType::kI64, {split.count}));
  SLUICE_ASSIGN(const Output often, call.output(3, DType::kI64, {count}));
  const size_t run =
      static_cast<size_t>(split.inner) * static_cast<size_t>(dtype_bits(x.dtype)) / 8;
  std::vector<int64_t> place(unique.order.size());
  for (int64_t i = 0; i < count; ++i) {
    const size_t number = unique.order[static_cast<size_t>(i)];
    place[number] = i;
    first.as<int64_t>()[i] = unique.firsts[number];
    often.as<int64_t>()[i] = unique.counts[number];
    for (int64_t outer = 0; run > 0 && outer < split.outer; ++outer) {
      const std::byte* from =
          x.data + static_cast<size_t>(outer * split.count + unique.firsts[number]) * run;
      std::memcpy(y.data + static_cast<size_t>(outer * count + i) * run, from, run);
    }
  }
  for (size_t i = 0; i < unique.inverse.size(); ++i)
    back.as<int64_t>()[i] = place[unique.inverse[i]];
  return {};
}

}  // namespace sluice::eval
