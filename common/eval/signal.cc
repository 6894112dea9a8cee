// Fourier transforms, windows, mel weights.
#include <cmath>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/dispatch.h"
#include "common/eval/fourier.h"
#include "common/eval/kernels.h"
#include "common/eval/math64.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Computes a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n).
Result<void> cosine_window(EvalCall& call, double a0, double a1, double a2) {
  const int64_t size = call.integer(0, 0);
  const bool periodic = call.node.get(attributes::SignalWindow::periodic) != 0;
  SLUICE_ASSIGN(
      const Output y,
      call.output(0, static_cast<DType>(call.node.get(attributes::SignalWindow::output_datatype)),
                  {std::max<int64_t>(size, 0)}));
  const auto n = static_cast<double>(periodic ? size : size - 1);
  for (int64_t i = 0; i < y.count; ++i) {
    const double angle = size == 1 && !periodic ? 0 : 2 * kPi * static_cast<double>(i) / n;
    const double value = a0 - a1 * math::cos(angle) + a2 * math::cos(2 * angle);
    store_doubles(y.dtype, y.data, i, 1, &value);
  }
  return {};
}

}  // namespace

Result<void> eval_dft(EvalCall& call) {
  const Input& x = call.input(0);
  if (x.rank() < 2 || x.dims.back() < 1 || x.dims.back() > 2)
    return call.bad_shape("the input {} holds no complex numbers", dims_text(x.dims));
  const bool inverse = call.node.get(attributes::DFT::inverse) != 0;
  const bool onesided = call.node.get(attributes::DFT::onesided) != 0;
  SLUICE_ASSIGN(const int64_t axis, call.axis(call.has(2) ? call.integer(2, -2) : -2, x.rank()));
  if (axis == x.rank() - 1) return call.bad_value("the last axis cannot be transformed");
  const AxisSplit split(x.dims.first(x.dims.size() - 1), axis);
  const int64_t parts = x.dims.back();
  const bool from_half = inverse && onesided;
  const int64_t length = call.integer(1, from_half ? 2 * (split.count - 1) : split.count);
  if (length < 1) return call.bad_value("the length is {}", length);
  const int64_t outputs = onesided && !inverse ? length / 2 + 1 : length;
  std::vector<int64_t> dims = to_vector(x.dims);
  dims[static_cast<size_t>(axis)] = outputs;
  dims.back() = from_half ? 1 : 2;
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  const FourierTransform transform(length);
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    std::vector<Complex> line(static_cast<size_t>(length));
    for (int64_t number = 0; number < split.outer * split.inner; ++number) {
      const int64_t outer = number / split.inner;
      const int64_t inner = number % split.inner;
      for (int64_t i = 0; i < length; ++i) {
        const bool mirrored = from_half && i >= split.count;
        const int64_t source = mirrored ? length - i : i;
        Complex& value = line[static_cast<size_t>(i)] = {};
        if (source >= split.count) continue;
        const T* from = x.as<T>() + ((outer * split.count + source) * split.inner + inner) * parts;
        value = {static_cast<double>(from[0]), parts == 2 ? static_cast<double>(from[1]) : 0};
        if (mirrored) value.im = -value.im;
      }
      transform.run(line, inverse);
      for (int64_t k = 0; k < outputs; ++k) {
        const Complex& value = line[static_cast<size_t>(k)];
        T* to = y.as<T>() + ((outer * outputs + k) * split.inner + inner) * dims.back();
        to[0] = static_cast<T>(value.re);
        if (dims.back() == 2) to[1] = static_cast<T>(value.im);
      }
    }
    return {};
  });
}

Result<void> eval_stft(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& window = call.input(2);
  if (x.rank() < 2 || x.rank() > 3)
    return call.bad_shape("the signal {} has another rank than 3", dims_text(x.dims));
  const int64_t step = call.integer(1, 0);
  const int64_t parts = x.rank() == 3 ? x.dims[2] : 1;
  if (parts != 1 && parts != 2)
    return call.bad_shape("the signal {} is neither real nor complex", dims_text(x.dims));
  const int64_t length = call.has(3) ? call.integer(3, 0) : window.count;
  if (step < 1 || length < 1 || length > x.dims[1] ||
      (window.present() && (window.count > length || window.dtype != x.dtype)))
    return call.bad_value("frames of {} elements every {} do not fit the signal", length, step);
  const bool onesided = call.node.get(attributes::STFT::onesided) != 0;
  const int64_t frames = (x.dims[1] - length) / step + 1;
  const int64_t outputs = onesided ? length / 2 + 1 : length;
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, {x.dims[0], frames, outputs, 2}));
  const FourierTransform transform(length);
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    std::vector<Complex> line(static_cast<size_t>(length));
    const int64_t margin = window.present() ? (length - window.count) / 2 : 0;
    for (int64_t number = 0; number < x.dims[0] * frames; ++number) {
      const T* from = x.as<T>() + (number / frames * x.dims[1] + number % frames * step) * parts;
      for (int64_t i = 0; i < length; ++i) {
        const bool inside = i >= margin && i - margin < window.count;
        const double weight = !window.present() ? 1
                              : inside          ? static_cast<double>(window.as<T>()[i - margin])
                                                : 0;
        line[static_cast<size_t>(i)] = {
            static_cast<double>(from[i * parts]) * weight,
            parts == 2 ? static_cast<double>(from[i * parts + 1]) * weight : 0};
      }
      transform.run(line, false);
      for (int64_t k = 0; k < outputs; ++k) {
        const Complex& value = line[static_cast<size_t>(k)];
        y.as<T>()[(number * outputs + k) * 2] = static_cast<T>(value.re);
        y.as<T>()[(number * outputs + k) * 2 + 1] = static_cast<T>(value.im);
      }
    }
    return {};
  });
}

Result<void> eval_hann_window(EvalCall& call) { return cosine_window(call, 0.5, 0.5, 0); }
Result<void> eval_hamming_window(EvalCall& call) {
  return cosine_window(call, 25.0 / 46.0, 21.0 / 46.0, 0);
}
Result<void> eval_blackman_window(EvalCall& call) { return cosine_window(call, 0.42, 0.5, 0.08); }

Result<void> eval_mel_weight_matrix(EvalCall& call) {
  const int64_t bins = call.integer(0, 0);
  const int64_t length = call.integer(1, 0);
  const auto rate = static_cast<double>(call.integer(2, 0));
  const double low = call.number(3, 0);
  const double high = call.number(4, 0);
  if (bins < 1 || length < 1 || rate <= 0)
    return call.bad_value("{} bins, length {}, rate {}", bins, length, rate);
  const auto mel = [](double hertz) { return 2595 * math::log(1 + hertz / 700) / math::log(10.0); };
  const int64_t spectrum = length / 2 + 1;
  std::vector<int64_t> edges;
  const double step = (mel(high) - mel(low)) / static_cast<double>(bins + 2);
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz =
        700 * (math::pow(10.0, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
    edges.push_back(
        static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
  }
  SLUICE_ASSIGN(
      const Output y,
      call.output(0,
                  static_cast<DType>(call.node.get(attributes::MelWeightMatrix::output_datatype)),
                  {spectrum, bins}));
  for (int64_t i = 0; i < spectrum; ++i) {
    for (int64_t bin = 0; bin < bins; ++bin) {
      const int64_t left = edges[static_cast<size_t>(bin)],
                    center = edges[static_cast<size_t>(bin) + 1],
                    right = edges[static_cast<size_t>(bin) + 2];
      double value = 0;
      if (i >= left && i <= center && left < center)
        value = static_cast<double>(i - left) / static_cast<double>(center - left);
      if (i >= center && i < right)
        value = static_cast<double>(right - i) / static_cast<double>(right - center);
      if (left == center && i == center) value = 1;
      store_doubles(y.dtype, y.data, i * bins + bin, 1, &value);
    }
  }
  return {};
}

}  // namespace sluice::eval
