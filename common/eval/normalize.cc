// Softmax and the normalizations. Means and sums are computed in float64.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/broadcast.h"
#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

template <typename T>
std::vector<T> numbers(const Input& input) {
  std::vector<T> values(static_cast<size_t>(input.count));
  if constexpr (std::is_same_v<T, float>) {
    load_floats(input.dtype, input.data, 0, input.count, values.data());
  } else {
    load_doubles(input.dtype, input.data, 0, input.count, values.data());
  }
  return values;
}

enum class SoftmaxKind { kSoftmax, kLogSoftmax, kHardmax };

template <typename T>
void softmax_line(SoftmaxKind kind, const T* x, T* y, int64_t count, int64_t stride) {
  T top = -std::numeric_limits<T>::infinity();
  int64_t best = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (x[i * stride] > top) {
      top = x[i * stride];
      best = i;
    }
  }
  if (kind == SoftmaxKind::kHardmax) {
    for (int64_t i = 0; i < count; ++i) y[i * stride] = i == best ? T(1) : T(0);
    return;
  }
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const T e = math::exp(x[i * stride] - top);
    y[i * stride] = e;
    sum += static_cast<double>(e);
  }
  if (kind == SoftmaxKind::kSoftmax) {
    for (int64_t i = 0; i < count; ++i)
      y[i * stride] = static_cast<T>(static_cast<double>(y[i * stride]) / sum);
    return;
  }
  const T log_sum = static_cast<T>(math::log(sum));
  for (int64_t i = 0; i < count; ++i) y[i * stride] = x[i * stride] - top - log_sum;
}

Result<void> softmax(EvalCall& call, SoftmaxKind kind) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  SLUICE_ASSIGN(const int64_t axis, call.axis(call.node.get(attributes::Softmax::axis),
                                              std::max<int64_t>(x.rank(), 1)));
  const AxisSplit split =
      x.rank() == 0 ? AxisSplit(std::vector<int64_t>{1}, 0) : AxisSplit(x.dims, axis);
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t outer = 0; outer < split.outer; ++outer) {
      for (int64_t inner = 0; inner < split.inner; ++inner) {
        const int64_t at = outer * split.count * split.inner + inner;
        softmax_line(kind, x.as<T>() + at, y.as<T>() + at, split.count, split.inner);
      }
    }
    return {};
  });
}

struct Moments {
  double mean = 0;
  double variance = 0;
};

template <typename T>
Moments moments(const T* x, int64_t count) {
  Moments result;
  for (int64_t i = 0; i < count; ++i) result.mean += static_cast<double>(x[i]);
  result.mean /= static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    const double distance = static_cast<double>(x[i]) - result.mean;
    result.variance += distance * distance;
  }
  result.variance /= static_cast<double>(count);
  return result;
}

// Returns mean and variance per channel of x [N, C, rest], over N and rest.
template <typename T>
std::vector<Moments> channel_moments(const Input& x, int64_t channels, int64_t size) {
  std::vector<Moments> all(static_cast<size_t>(channels));
  const int64_t batch = x.dims[0];
  for (int64_t c = 0; c < channels; ++c) {
    std::vector<T> line;
    for (int64_t n = 0; n < batch; ++n) {
      const T* plane = x.as<T>() + (n * channels + c) * size;
      line.insert(line.end(), plane, plane + size);
    }
    all[static_cast<size_t>(c)] = moments(line.data(), static_cast<int64_t>(line.size()));
  }
  return all;
}

Result<void> write_running(EvalCall& call, size_t output, size_t input,
                           const std::vector<Moments>& now, double Moments::* part) {
  if (!call.wants(output)) return {};
  const double momentum = call.node.get(attributes::BatchNormalization::momentum);
  std::vector<double> values = numbers<double>(call.input(input));
  for (size_t c = 0; c < values.size(); ++c)
    values[c] = values[c] * momentum + now[c].*part * (1 - momentum);
  SLUICE_ASSIGN(const Output y, call.output_like(output, input, to_vector(call.input(input).dims)));
  store_doubles(y.dtype, y.data, 0, y.count, values.data());
  return {};
}

// Computes y = (x - mean) * scale / sqrt(variance + epsilon) + bias over `count` elements.
template <typename T>
void normalize_line(const T* x, T* y, int64_t count, const Moments& m, double epsilon, double scale,
                    double bias) {
  const T factor = static_cast<T>(scale / std::sqrt(m.variance + epsilon));
  const T mean = static_cast<T>(m.mean);
  const T offset = static_cast<T>(bias);
  for (int64_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * factor + offset;
}

}  // namespace

Result<void> eval_softmax(EvalCall& call) { return softmax(call, SoftmaxKind::kSoftmax); }
Result<void> eval_log_softmax(EvalCall& call) { return softmax(call, SoftmaxKind::kLogSoftmax); }
Result<void> eval_hardmax(EvalCall& call) { return softmax(call, SoftmaxKind::kHardmax); }

Result<void> eval_batch_normalization(EvalCall& call) {
  const Input& x = call.input(0);
  if (x.rank() < 1) return call.bad_shape("the input is a scalar");
  const int64_t channels = x.rank() < 2 ? 1 : x.dims[1];
  const int64_t size = x.rank() < 2 ? 1 : product(x.dims.subspan(2));
  for (size_t i = 1; i < 5; ++i) {
    if (call.input(i).count != channels)
      return call.bad_shape("input {} has {} elements for {} channels", i, call.input(i).count,
                            channels);
  }
  const double epsilon = call.node.get(attributes::BatchNormalization::epsilon);
  const bool training = call.node.get(attributes::BatchNormalization::training_mode) != 0;
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    const auto scale = numbers<double>(call.input(1));
    const auto bias = numbers<double>(call.input(2));
    const auto mean = numbers<double>(call.input(3));
    const auto variance = numbers<double>(call.input(4));
    std::vector<Moments> all;
    for (size_t c = 0; c < mean.size(); ++c) all.push_back({mean[c], variance[c]});
    if (training) all = channel_moments<T>(x, channels, size);
    for (int64_t plane = 0; size > 0 && plane < x.count / size; ++plane) {
      const auto c = static_cast<size_t>(plane % channels);
      normalize_line(x.as<T>() + plane * size, y.as<T>() + plane * size, size, all[c], epsilon,
                     scale[c], bias[c]);
    }
    if (!training) return {};
    SLUICE_TRY(write_running(call, 1, 3, all, &Moments::mean));
    return write_running(call, 2, 4, all, &Moments::variance);
  });
}

Result<void> eval_instance_normalization(EvalCall& call) {
  const Input& x = call.input(0);
  if (x.rank() < 2 || call.input(1).count != x.dims[1] || call.input(2).count != x.dims[1])
    return call.bad_shape("scale and bias do not fit the input {}", dims_text(x.dims));
  const int64_t size = product(x.dims.subspan(2));
  const double epsilon = call.node.get(attributes::InstanceNormalization::epsilon);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    const auto scale = numbers<double>(call.input(1));
    const auto bias = numbers<double>(call.input(2));
    for (int64_t plane = 0; size > 0 && plane < x.count / size; ++plane) {
      const auto c = static_cast<size_t>(plane % x.dims[1]);
      const T* from = x.as<T>() + plane * size;
      normalize_line(from, y.as<T>() + plane * size, size, moments(from, size), epsilon, scale[c],
                     bias[c]);
    }
    return {};
  });
}

Result<void> eval_group_normalization(EvalCall& call) {
  const Input& x = call.input(0);
  const int64_t groups = call.node.get(attributes::GroupNormalization::num_groups);
  if (x.rank() < 2 || groups < 1 || x.dims[1] % groups != 0)
    return call.bad_shape("{} groups do not fit the input {}", groups, dims_text(x.dims));
  const int64_t channels = x.dims[1];
  if (call.input(1).count != channels || call.input(2).count != channels)
    return call.bad_shape("scale and bias do not fit {} channels", channels);
  const int64_t size = product(x.dims.subspan(2));
  const int64_t group_size = channels / groups * size;
  const double epsilon = call.node.get(attributes::GroupNormalization::epsilon);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    const auto scale = numbers<double>(call.input(1));
    const auto bias = numbers<double>(call.input(2));
    for (int64_t group = 0; group < x.dims[0] * groups; ++group) {
      const Moments m = moments(x.as<T>() + group * group_size, group_size);
      for (int64_t k = 0; k < channels / groups; ++k) {
        const int64_t plane = group * (channels / groups) + k;
        const auto c = static_cast<size_t>(plane % channels);
        normalize_line(x.as<T>() + plane * size, y.as<T>() + plane * size, size, m, epsilon,
                       scale[c], bias[c]);
      }
    }
    return {};
  });
}

namespace {

// Returns true when `given`, without leading ones, is equal to the last extents of `dims`, so that
// rows of `dims` repeat it as a whole.
bool repeats_along(std::span<const int64_t> dims, std::span<const int64_t> given) {
  while (!given.empty() && given.front() == 1) given = given.subspan(1);
  return given.size() <= dims.size() && std::ranges::equal(given, dims.last(given.size()));
}

// Returns true when rows of `trailing` read the operand's elements one by one, cyclically.
bool is_plain(const Input& operand, std::span<const int64_t> trailing) {
  return !operand.present() || (operand.count > 0 && repeats_along(trailing, operand.dims));
}

// Returns the dims of an operand without leading ones beyond the rank that it is broadcast to.
std::span<const int64_t> dims_below(const Input& operand, size_t rank) {
  std::span<const int64_t> dims = operand.dims;
  while (dims.size() > rank && dims.front() == 1) dims = dims.subspan(1);
  return dims;
}

bool spreads_to(const Input& operand, const Input& x) {
  return !operand.present() || broadcasts_to(dims_below(operand, x.dims.size()), x.dims);
}

// Computes y = y * scale + bias, both broadcast to y.
template <typename T>
void scale_and_shift(const Output& y, const Input& scale, const Input& bias) {
  const auto scales = numbers<T>(scale);
  const auto biases = bias.present() ? numbers<T>(bias) : std::vector<T>{T(0)};
  const auto strides_of = [&](const Input& operand) {
    if (!operand.present()) return std::vector<int64_t>(y.dims.size(), 0);
    return broadcast_strides(dims_below(operand, y.dims.size()), y.dims);
  };
  const RowPlan plan = make_row_plan(y.dims, {strides_of(scale), strides_of(bias)});
  for_each_row(plan, [&](int64_t out, const int64_t* at) {
    T* row = y.as<T>() + out;
    for (int64_t i = 0; i < plan.row(); ++i) {
      row[i] = row[i] * scales[static_cast<size_t>(at[0] + i * plan.stride(0))];
      if (bias.present()) row[i] += biases[static_cast<size_t>(at[1] + i * plan.stride(1))];
    }
  });
}

// The common part of LayerNormalization and RMSNormalization: rows of the trailing axes, with scale
// and bias broadcast along them, or to all axes.
Result<void> normalize_rows(EvalCall& call, bool centered) {
  const Input& x = call.input(0);
  const Input& scale = call.input(1);
  const Input& bias = call.input(2);
  SLUICE_ASSIGN(const int64_t axis,
                call.axis(call.node.get(attributes::LayerNormalization::axis), x.rank()));
  const auto trailing = x.dims.subspan(static_cast<size_t>(axis));
  const int64_t size = product(trailing);
  const bool is_repeating = is_plain(scale, trailing) && is_plain(bias, trailing);
  if (!is_repeating && (!spreads_to(scale, x) || !spreads_to(bias, x))) {
    return call.bad_shape("scale or bias does not fit rows of {} elements", size);
  }
  const double epsilon = call.node.get(attributes::LayerNormalization::epsilon);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  std::vector<int64_t> reduced = to_vector(x.dims);
  std::fill(reduced.begin() + axis, reduced.end(), 1);
  std::vector<double> means, deviations;
  SLUICE_TRY(visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    const auto scales = numbers<T>(scale);
    const auto biases = numbers<T>(bias);
    for (int64_t row = 0; size > 0 && row < x.count / size; ++row) {
      const T* from = x.as<T>() + row * size;
      T* to = y.as<T>() + row * size;
      Moments m;
      if (centered) {
        m = moments(from, size);
      } else {
        for (int64_t i = 0; i < size; ++i)
          m.variance += static_cast<double>(from[i]) * static_cast<double>(from[i]);
        m.variance /= static_cast<double>(size);
      }
      const double inverse = 1 / std::sqrt(m.variance + epsilon);
      means.push_back(m.mean);
      deviations.push_back(inverse);
      for (int64_t i = 0; i < size; ++i) {
        const T unit = static_cast<T>((static_cast<double>(from[i]) - m.mean) * inverse);
        to[i] = is_repeating ? unit * scales[static_cast<size_t>(i) % scales.size()] : unit;
        if (is_repeating && !biases.empty())
          to[i] += biases[static_cast<size_t>(i) % biases.size()];
      }
    }
    if (!is_repeating && y.count > 0) scale_and_shift<T>(y, scale, bias);
    return {};
  }));
  std::vector<double>* statistics[] = {&means, &deviations};
  for (size_t i = 1; centered && i < 3; ++i) {
    if (!call.wants(i)) continue;
    SLUICE_ASSIGN(
        const Output out,
        call.output(i,
                    static_cast<DType>(call.node.get(attributes::LayerNormalization::stash_type)),
                    reduced));
    // Rows without elements have none.
    statistics[i - 1]->resize(static_cast<size_t>(out.count),
                              std::numeric_limits<double>::quiet_NaN());
    store_doubles(out.dtype, out.data, 0, out.count, statistics[i - 1]->data());
  }
  return {};
}

}  // namespace

Result<void> eval_layer_normalization(EvalCall& call) { return normalize_rows(call, true); }
Result<void> eval_rms_normalization(EvalCall& call) { return normalize_rows(call, false); }

Result<void> eval_lrn(EvalCall& call) {
  const Input& x = call.input(0);
  const int64_t size = call.node.get(attributes::LRN::size);
  if (x.rank() < 2 || size < 1)
    return call.bad_shape("the input {} or the size {} is not fit", dims_text(x.dims), size);
  const double alpha = call.node.get(attributes::LRN::alpha);
  const double beta = call.node.get(attributes::LRN::beta);
  const double bias = call.node.get(attributes::LRN::bias);
  const AxisSplit split(x.dims, 1);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t at = 0; at < x.count; ++at) {
      const int64_t c = at / split.inner % split.count;
      const T* line = x.as<T>() + (at - c * split.inner);
      double sum = 0;
      for (int64_t k = std::max<int64_t>(0, c - (size - 1) / 2);
           k <= std::min(split.count - 1, c + size / 2); ++k) {
        sum +=
            static_cast<double>(line[k * split.inner]) * static_cast<double>(line[k * split.inner]);
      }
      y.as<T>()[at] =
          static_cast<T>(static_cast<double>(x.as<T>()[at]) /
                         math::pow(bias + alpha / static_cast<double>(size) * sum, beta));
    }
    return {};
  });
}

Result<void> eval_lp_normalization(EvalCall& call) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const int64_t axis,
                call.axis(call.node.get(attributes::LpNormalization::axis), x.rank()));
  const bool squares = call.node.get(attributes::LpNormalization::p) == 2;
  const AxisSplit split(x.dims, axis);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, to_vector(x.dims)));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t line = 0; line < split.outer * split.inner; ++line) {
      const int64_t at = line / split.inner * split.count * split.inner + line % split.inner;
      double sum = 0;
      for (int64_t i = 0; i < split.count; ++i) {
        const auto v = static_cast<double>(x.as<T>()[at + i * split.inner]);
        sum += squares ? v * v : std::abs(v);
      }
      const double norm = squares ? std::sqrt(sum) : sum;
      for (int64_t i = 0; i < split.count; ++i) {
        const int64_t k = at + i * split.inner;
        y.as<T>()[k] = norm == 0 ? T(0) : static_cast<T>(static_cast<double>(x.as<T>()[k]) / norm);
      }
    }
    return {};
  });
}

}  // namespace sluice::eval
