// RNN, GRU and LSTM by ONNX's equations; sequences are evaluated position by position.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/eval/matrix.h"
#include "common/ops/attributes.h"
#include "common/ops/recurrent_activation.h"

namespace sluice::eval {
namespace {

struct RecurrentShape {
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t input = 0;
  int64_t hidden = 0;
  int64_t directions = 1;
  int64_t gates = 1;
  bool batch_first = false;  // the attribute layout
  std::string direction;
  std::vector<int64_t> lengths;

  bool reversed(int64_t d) const { return direction == "reverse" || d == 1; }
};

// Checks the initial states: h, and c of an LSTM.
Result<void> check_states(const EvalCall& call, const RecurrentShape& shape) {
  const int64_t elements = shape.directions * shape.batch * shape.hidden;
  for (const size_t i : {size_t{5}, size_t{6}}) {
    if ((i == 6 && shape.gates != 4) || !call.has(i) || call.input(i).count == elements) continue;
    std::vector<int64_t> expected = {shape.directions, shape.batch, shape.hidden};
    if (shape.batch_first) std::swap(expected[0], expected[1]);
    return call.bad_shape("the initial state {} (input {}) has shape {}, expected {}",
                          i == 5 ? "h" : "c", i, dims_text(call.input(i).dims),
                          dims_text(expected));
  }
  return {};
}

Result<RecurrentShape> make_recurrent_shape(const EvalCall& call, int64_t gates) {
  const Input& x = call.input(0);
  const Input& w = call.input(1);
  const Input& r = call.input(2);
  RecurrentShape shape;
  shape.direction = call.node.get(attributes::Recurrent::direction);
  shape.directions = shape.direction == "bidirectional" ? 2 : 1;
  shape.gates = gates;
  shape.batch_first = call.node.get(attributes::Recurrent::layout) != 0;
  if (x.rank() != 3 || w.rank() != 3 || r.rank() != 3)
    return call.bad_shape("the input or the weights have another rank than 3");
  shape.steps = x.dims[shape.batch_first ? 1 : 0];
  shape.batch = x.dims[shape.batch_first ? 0 : 1];
  shape.input = x.dims[2];
  shape.hidden = r.dims[2];
  const int64_t rows = gates * shape.hidden;
  const std::vector<int64_t> w_dims = {shape.directions, rows, shape.input};
  const std::vector<int64_t> r_dims = {shape.directions, rows, shape.hidden};
  const bool bias_fits = !call.has(3) || call.input(3).count == shape.directions * 2 * rows;
  if (!std::ranges::equal(w.dims, w_dims) || !std::ranges::equal(r.dims, r_dims) || !bias_fits)
    return call.bad_shape("the weights {} and {} do not fit", dims_text(w.dims), dims_text(r.dims));
  shape.lengths = call.ints(4);
  if (shape.lengths.empty()) shape.lengths.assign(static_cast<size_t>(shape.batch), shape.steps);
  if (static_cast<int64_t>(shape.lengths.size()) != shape.batch)
    return call.bad_shape("{} lengths for a batch of {}", shape.lengths.size(), shape.batch);
  for (int64_t& length : shape.lengths) length = std::clamp<int64_t>(length, 0, shape.steps);
  SLUICE_TRY(check_states(call, shape));
  return shape;
}

template <typename T>
using Activation = std::function<T(T)>;

template <typename T>
Result<Activation<T>> make_activation(const EvalCall& call, const std::string& name, T alpha,
                                      T beta) {
  if (name == "Sigmoid") return Activation<T>([](T x) { return T(1) / (T(1) + math::exp(-x)); });
  if (name == "Tanh") return Activation<T>([](T x) { return math::tanh(x); });
  if (name == "Relu") return Activation<T>([](T x) { return x < 0 ? T(0) : x; });
  if (name == "Affine") return Activation<T>([=](T x) { return alpha * x + beta; });
  if (name == "LeakyRelu") return Activation<T>([=](T x) { return x < 0 ? alpha * x : x; });
  if (name == "ThresholdedRelu") return Activation<T>([=](T x) { return x > alpha ? x : T(0); });
  if (name == "ScaledTanh") return Activation<T>([=](T x) { return alpha * math::tanh(beta * x); });
  if (name == "HardSigmoid")
    return Activation<T>([=](T x) { return std::clamp(alpha * x + beta, T(0), T(1)); });
  if (name == "Elu")
    return Activation<T>([=](T x) { return x < 0 ? alpha * (math::exp(x) - 1) : x; });
  if (name == "Softsign") return Activation<T>([](T x) { return x / (1 + std::abs(x)); });
  if (name == "Softplus") return Activation<T>([](T x) { return math::log1p(math::exp(x)); });
  return call.bad_value("unknown activation '{}'", name);
}

// Returns the next value of an attribute, its default when there are no more, or 0 when the
// activation does not take it.
double next_parameter(const std::vector<float>& values, size_t& next,
                      const std::optional<double>& fallback) {
  if (!fallback) return 0;
  return next < values.size() ? static_cast<double>(values[next++]) : *fallback;
}

// Returns the activations of one direction. The attributes list those of all directions
// consecutively; alphas and betas are consumed in that order.
template <typename T>
Result<std::vector<Activation<T>>> activations(const EvalCall& call,
                                               const std::vector<std::string>& usual,
                                               int64_t direction) {
  const auto given = call.node.get(attributes::Recurrent::activations);
  const auto alphas = call.node.get(attributes::Recurrent::activation_alpha);
  const auto betas = call.node.get(attributes::Recurrent::activation_beta);
  const size_t first = static_cast<size_t>(direction) * usual.size();
  const size_t last = first + usual.size();
  if (!given.empty() && given.size() < last)
    return call.bad_value("{} activations are too few", given.size());
  size_t alphas_used = 0, betas_used = 0;
  std::vector<Activation<T>> result;
  for (size_t i = 0; i < last; ++i) {
    const std::string& name = given.empty() ? usual[i % usual.size()] : given[i];
    const ActivationRow* row = find_activation(name);
    if (row == nullptr) return call.bad_value("unknown activation '{}'", name);
    const auto alpha = static_cast<T>(next_parameter(alphas, alphas_used, row->alpha));
    const auto beta = static_cast<T>(next_parameter(betas, betas_used, row->beta));
    if (i < first) continue;
    SLUICE_ASSIGN(auto made, make_activation<T>(call, name, alpha, beta));
    result.push_back(std::move(made));
  }
  return result;
}

// Computes to[rows] = matrix[rows, columns] * x + start.
template <typename T>
void apply(const T* matrix, int64_t rows, int64_t columns, const T* x, T* to) {
  for (int64_t i = 0; i < rows; ++i) {
    T sum = to[i];
    for (int64_t k = 0; k < columns; ++k) sum += matrix[i * columns + k] * x[k];
    to[i] = sum;
  }
}

// The weights of one direction.
template <typename T>
struct Weights {
  const T* w;
  const T* r;
  std::vector<T> wb;  // biases, zeros when absent
  std::vector<T> rb;
};

template <typename T>
Weights<T> weights_of(const EvalCall& call, const RecurrentShape& shape, int64_t d) {
  const int64_t rows = shape.gates * shape.hidden;
  Weights<T> weights{call.input(1).as<T>() + d * rows * shape.input,
                     call.input(2).as<T>() + d * rows * shape.hidden,
                     std::vector<T>(static_cast<size_t>(rows), T(0)),
                     std::vector<T>(static_cast<size_t>(rows), T(0))};
  if (call.has(3)) {
    const T* bias = call.input(3).as<T>() + d * 2 * rows;
    std::copy_n(bias, rows, weights.wb.begin());
    std::copy_n(bias + rows, rows, weights.rb.begin());
  }
  return weights;
}

template <typename T>
T clipped(const EvalCall& call, T x) {
  const auto limit = static_cast<T>(call.node.get(attributes::Recurrent::clip));
  return limit > 0 ? std::clamp(x, -limit, limit) : x;
}

template <typename T>
using Line = std::vector<T>;

// One iteration of one batch element, which replaces h (and c for LSTM).
template <typename T>
using Step = std::function<void(const T* x, Line<T>& h, Line<T>& c)>;

template <typename T>
Step<T> rnn_step(const EvalCall& call, const RecurrentShape& shape, Weights<T> weights,
                 std::vector<Activation<T>> f) {
  return [&call, &shape, weights, f](const T* x, Line<T>& h, Line<T>&) {
    Line<T> sum = weights.wb;
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += weights.rb[i];
    apply(weights.w, shape.hidden, shape.input, x, sum.data());
    apply(weights.r, shape.hidden, shape.hidden, h.data(), sum.data());
    for (size_t i = 0; i < h.size(); ++i) h[i] = f[0](clipped(call, sum[i]));
  };
}

// Makes the iteration of a GRU with the gates z, r, h.
template <typename T>
Step<T> gru_step(const EvalCall& call, const RecurrentShape& shape, Weights<T> weights,
                 std::vector<Activation<T>> f) {
  const bool linear_before_reset = call.node.get(attributes::GRU::linear_before_reset) != 0;
  return [&call, &shape, weights, f, linear_before_reset](const T* x, Line<T>& h, Line<T>&) {
    const int64_t n = shape.hidden;
    const auto size = static_cast<size_t>(n);
    Line<T> wx = weights.wb;
    apply(weights.w, 3 * n, shape.input, x, wx.data());
    Line<T> rh(weights.rb.begin(), weights.rb.begin() + 2 * n);
    apply(weights.r, 2 * n, n, h.data(), rh.data());
    Line<T> z(size), reset(size), candidate_bias(weights.rb.begin() + 2 * n, weights.rb.end());
    for (size_t i = 0; i < size; ++i) {
      z[i] = f[0](clipped(call, wx[i] + rh[i]));
      reset[i] = f[0](clipped(call, wx[size + i] + rh[size + i]));
    }
    Line<T> source = h;
    for (size_t i = 0; i < size && !linear_before_reset; ++i) source[i] *= reset[i];
    apply(weights.r + 2 * n * n, n, n, source.data(), candidate_bias.data());
    for (size_t i = 0; i < size; ++i) {
      const T candidate =
          f[1](clipped(call, wx[2 * size + i] + (linear_before_reset ? reset[i] * candidate_bias[i]
                                                                     : candidate_bias[i])));
      h[i] = (T(1) - z[i]) * candidate + z[i] * h[i];
    }
  };
}

// Makes the iteration of an LSTM with the gates i, o, f, c and the peepholes i, o, f.
template <typename T>
Step<T> lstm_step(const EvalCall& call, const RecurrentShape& shape, Weights<T> weights,
                  std::vector<Activation<T>> f, Line<T> peephole) {
  const bool coupled = call.node.get(attributes::LSTM::input_forget) != 0;
  return [&call, &shape, weights, f, peephole, coupled](const T* x, Line<T>& h, Line<T>& c) {
    const auto n = static_cast<size_t>(shape.hidden);
    Line<T> sum = weights.wb;
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += weights.rb[i];
    apply(weights.w, 4 * shape.hidden, shape.input, x, sum.data());
    apply(weights.r, 4 * shape.hidden, shape.hidden, h.data(), sum.data());
    for (size_t k = 0; k < n; ++k) {
      const T in = f[0](clipped(call, sum[k] + peephole[k] * c[k]));
      const T forget =
          coupled ? T(1) - in : f[0](clipped(call, sum[2 * n + k] + peephole[2 * n + k] * c[k]));
      c[k] = forget * c[k] + in * f[1](clipped(call, sum[3 * n + k]));
      const T out = f[0](clipped(call, sum[n + k] + peephole[n + k] * c[k]));
      h[k] = out * f[2](c[k]);
    }
  };
}

template <typename T>
void load_state(const Input& state, const RecurrentShape& shape, int64_t d, int64_t b,
                Line<T>& line) {
  line.assign(static_cast<size_t>(shape.hidden), T(0));
  if (!state.present()) return;
  const int64_t row = shape.batch_first ? b * shape.directions + d : d * shape.batch + b;
  std::copy_n(state.as<T>() + row * shape.hidden, shape.hidden, line.begin());
}

template <typename T>
void store_state(const Output& state, const RecurrentShape& shape, int64_t d, int64_t b,
                 const Line<T>& line) {
  const int64_t row = shape.batch_first ? b * shape.directions + d : d * shape.batch + b;
  std::copy(line.begin(), line.end(), state.as<T>() + row * shape.hidden);
}

// Runs the positions of every direction and batch element.
template <typename T, typename MakeStep>
Result<void> run_recurrent(EvalCall& call, const RecurrentShape& shape, MakeStep make_step) {
  const int64_t n = shape.hidden;
  const std::vector<int64_t> y_dims =
      shape.batch_first ? std::vector<int64_t>{shape.batch, shape.steps, shape.directions, n}
                        : std::vector<int64_t>{shape.steps, shape.directions, shape.batch, n};
  const std::vector<int64_t> state_dims =
      shape.batch_first ? std::vector<int64_t>{shape.batch, shape.directions, n}
                        : std::vector<int64_t>{shape.directions, shape.batch, n};
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, y_dims));
  SLUICE_ASSIGN(const Output y_h, call.output_like(1, 0, state_dims));
  Output y_c;
  if (shape.gates == 4) {
    SLUICE_ASSIGN(y_c, call.output_like(2, 0, state_dims));
  }
  std::fill_n(y.as<T>(), y.count, T(0));
  for (int64_t d = 0; d < shape.directions; ++d) {
    SLUICE_ASSIGN(const Step<T> step, make_step(d));
    for (int64_t b = 0; b < shape.batch; ++b) {
      Line<T> h, c;
      load_state(call.input(5), shape, d, b, h);
      load_state(shape.gates == 4 ? call.input(6) : Input{}, shape, d, b, c);
      const int64_t length = shape.lengths[static_cast<size_t>(b)];
      for (int64_t i = 0; i < length; ++i) {
        const int64_t t = shape.reversed(d) ? length - 1 - i : i;
        const int64_t row = shape.batch_first ? b * shape.steps + t : t * shape.batch + b;
        step(call.input(0).as<T>() + row * shape.input, h, c);
        const int64_t to = shape.batch_first ? (b * shape.steps + t) * shape.directions + d
                                             : (t * shape.directions + d) * shape.batch + b;
        std::copy(h.begin(), h.end(), y.as<T>() + to * n);
      }
      store_state(y_h, shape, d, b, h);
      if (shape.gates == 4) store_state(y_c, shape, d, b, c);
    }
  }
  return {};
}

}  // namespace

Result<void> eval_rnn(EvalCall& call) {
  SLUICE_ASSIGN(const RecurrentShape shape, make_recurrent_shape(call, 1));
  return visit_float(call, call.input(0).dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    return run_recurrent<T>(call, shape, [&](int64_t d) -> Result<Step<T>> {
      SLUICE_ASSIGN(auto f, activations<T>(call, {"Tanh"}, d));
      return rnn_step<T>(call, shape, weights_of<T>(call, shape, d), std::move(f));
    });
  });
}

Result<void> eval_gru(EvalCall& call) {
  SLUICE_ASSIGN(const RecurrentShape shape, make_recurrent_shape(call, 3));
  return visit_float(call, call.input(0).dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    return run_recurrent<T>(call, shape, [&](int64_t d) -> Result<Step<T>> {
      SLUICE_ASSIGN(auto f, activations<T>(call, {"Sigmoid", "Tanh"}, d));
      return gru_step<T>(call, shape, weights_of<T>(call, shape, d), std::move(f));
    });
  });
}

Result<void> eval_lstm(EvalCall& call) {
  SLUICE_ASSIGN(const RecurrentShape shape, make_recurrent_shape(call, 4));
  if (call.has(7) && call.input(7).count != shape.directions * 3 * shape.hidden)
    return call.bad_shape("the peepholes do not fit");
  return visit_float(call, call.input(0).dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    return run_recurrent<T>(call, shape, [&](int64_t d) -> Result<Step<T>> {
      SLUICE_ASSIGN(auto f, activations<T>(call, {"Sigmoid", "Tanh", "Tanh"}, d));
      Line<T> peephole(static_cast<size_t>(3 * shape.hidden), T(0));
      if (call.has(7))
        std::copy_n(call.input(7).as<T>() + d * 3 * shape.hidden, 3 * shape.hidden,
                    peephole.begin());
      return lstm_step<T>(call, shape, weights_of<T>(call, shape, d), std::move(f),
                          std::move(peephole));
    });
  });
}

}  // namespace sluice::eval
