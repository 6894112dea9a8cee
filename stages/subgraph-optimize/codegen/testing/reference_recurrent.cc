#include "stages/subgraph-optimize/codegen/testing/reference_recurrent.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

using Line = std::vector<double>;  // of all hidden units

double activate(const CellActivation& activation, double x) {
  const double alpha = activation.alpha, beta = activation.beta;
  switch (activation.kind) {
    case ActivationKind::kAffine:
      return alpha * x + beta;
    case ActivationKind::kElu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case ActivationKind::kHardSigmoid:
      return std::clamp(alpha * x + beta, 0.0, 1.0);
    case ActivationKind::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case ActivationKind::kRelu:
      return std::max(x, 0.0);
    case ActivationKind::kScaledTanh:
      return alpha * std::tanh(beta * x);
    case ActivationKind::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case ActivationKind::kSoftplus:
      return std::log1p(std::exp(x));
    case ActivationKind::kSoftsign:
      return x / (1 + std::abs(x));
    case ActivationKind::kTanh:
      return std::tanh(x);
    case ActivationKind::kThresholdedRelu:
      return x > alpha ? x : 0;
  }
  return 0;
}

// One sequence in one direction.
class Walker {
 public:
  Walker(const RecurrentSpec& spec, const RecurrentOperands& in, int64_t direction, int64_t row)
      : cell_(spec.cell), in_(in), direction_(direction), row_(row), hidden_(cell_.hidden) {}

  void walk(RecurrentResults& results) {
    Line h = state(in_.h), c = state(in_.c);
    const int64_t length =
        in_.lengths.empty()
            ? in_.steps
            : std::clamp<int64_t>(in_.lengths[static_cast<size_t>(row_)], 0, in_.steps);
    const bool is_backward = cell_.is_reverse || direction_ == 1;
    for (int64_t step = 0; step < length; ++step) {
      const int64_t at = is_backward ? length - 1 - step : step;
      advance(at, h, c);
      const int64_t line = cell_.is_batch_first
                               ? (row_ * in_.steps + at) * cell_.directions + direction_
                               : (at * cell_.directions + direction_) * in_.batch + row_;
      std::copy(h.begin(), h.end(), results.y.begin() + line * hidden_);
    }
    std::copy(h.begin(), h.end(), results.y_h.begin() + state_line() * hidden_);
    std::copy(c.begin(), c.end(), results.y_c.begin() + state_line() * hidden_);
  }

 private:
  int64_t state_line() const {
    return cell_.is_batch_first ? row_ * cell_.directions + direction_
                                : direction_ * in_.batch + row_;
  }
  Line state(const std::vector<float>& states) const {
    if (states.empty()) return Line(static_cast<size_t>(hidden_), 0);
    const auto first = states.begin() + state_line() * hidden_;
    return Line(first, first + hidden_);
  }

  double number(const std::vector<float>& of, int64_t index) const {
    return of.empty() ? 0 : of[static_cast<size_t>(index)];
  }
  double bias(int64_t line, int64_t unit) const {
    return number(in_.bias, (direction_ * 2 * cell_.gates() + line) * hidden_ + unit);
  }
  // The sum of a gate over the input, with the input's bias.
  double input(int64_t at, int64_t gate, int64_t unit) const {
    const int64_t row = cell_.is_batch_first ? row_ * in_.steps + at : at * in_.batch + row_;
    const int64_t column = (direction_ * cell_.gates() + gate) * hidden_ + unit;
    return number(in_.products, row * cell_.columns() + column) + bias(gate, unit);
  }
  double recurrent(int64_t gate, int64_t unit, const Line& h) const {
    double sum = bias(cell_.gates() + gate, unit);
    const int64_t row = (direction_ * cell_.gates() + gate) * hidden_ + unit;
    for (int64_t k = 0; k < hidden_; ++k)
      sum += number(in_.r, row * hidden_ + k) * h[static_cast<size_t>(k)];
    return sum;
  }
  double activated(size_t index, double x) const {
    if (cell_.clip > 0) x = std::clamp<double>(x, -cell_.clip, cell_.clip);
    return activate(cell_.activations[static_cast<size_t>(direction_)][index], x);
  }

  void advance(int64_t at, Line& h, Line& c) const {
    const Line old = h;
    for (int64_t unit = 0; unit < hidden_; ++unit) {
      const auto i = static_cast<size_t>(unit);
      const auto total = [&](int64_t gate) {
        return input(at, gate, unit) + recurrent(gate, unit, old);
      };
      if (cell_.kind == CellKind::kRnn) h[i] = activated(0, total(0));
      if (cell_.kind == CellKind::kGru) {
        const double update = activated(0, total(0));
        const double candidate = activated(1, input(at, 2, unit) + scaled(at, unit, old));
        h[i] = (1 - update) * candidate + update * old[i];
      }
      if (cell_.kind == CellKind::kLstm) {
        const auto peephole = [&](int64_t gate) {
          return number(in_.peepholes, (direction_ * 3 + gate) * hidden_ + unit) * c[i];
        };
        const double in = activated(0, total(0) + peephole(0));
        const double forget = cell_.input_forget ? 1 - in : activated(0, total(2) + peephole(2));
        c[i] = forget * c[i] + in * activated(1, total(3));
        const double out = activated(0, total(1) + peephole(1));
        h[i] = out * activate(cell_.activations[static_cast<size_t>(direction_)][2], c[i]);
      }
    }
  }

  // The hidden gate of a GRU over the state.
  double scaled(int64_t at, int64_t unit, const Line& h) const {
    const auto reset = [&](int64_t k) {
      return activated(0, input(at, 1, k) + recurrent(1, k, h));
    };
    if (cell_.linear_before_reset) return reset(unit) * recurrent(2, unit, h);
    Line scaled = h;
    for (int64_t k = 0; k < hidden_; ++k) scaled[static_cast<size_t>(k)] *= reset(k);
    return recurrent(2, unit, scaled);
  }

  const RecurrentCell& cell_;
  const RecurrentOperands& in_;
  int64_t direction_, row_, hidden_;
};

}  // namespace

RecurrentResults reference_recurrent(const RecurrentSpec& spec, const RecurrentOperands& operands) {
  const int64_t states = spec.cell.directions * operands.batch * spec.cell.hidden;
  RecurrentResults results;
  results.y.assign(static_cast<size_t>(operands.steps * states), 0);
  results.y_h.assign(static_cast<size_t>(states), 0);
  results.y_c = results.y_h;
  for (int64_t direction = 0; direction < spec.cell.directions; ++direction) {
    for (int64_t row = 0; row < operands.batch; ++row)
      Walker(spec, operands, direction, row).walk(results);
  }
  return results;
}

}  // namespace sluice
