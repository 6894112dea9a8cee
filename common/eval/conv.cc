// Conv: blocks of output positions are gathered into a matrix, one column per position, and
// multiplied by the weights.
#include "common/eval/conv.h"

#include <algorithm>
#include <vector>

#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/eval/matrix.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

constexpr int64_t kPositions = 256;  // in one block

// Gathers columns[channel * taps + tap][position] of positions [first, first + count).
template <typename T>
void gather_columns(const ConvShape& shape, const T* x, const std::vector<int64_t>& taps,
                    int64_t count, T pad, T* columns) {
  const int64_t tap_count = shape.window.taps();
  for (int64_t channel = 0; channel < shape.channels / shape.groups; ++channel) {
    const T* plane = x + channel * shape.window.in_size();
    for (int64_t tap = 0; tap < tap_count; ++tap) {
      const int64_t* from = taps.data() + tap * kPositions;
      T* row = columns + (channel * tap_count + tap) * kPositions;
      for (int64_t i = 0; i < count; ++i) row[i] = from[i] < 0 ? pad : plane[from[i]];
    }
  }
}

}  // namespace

Result<ConvShape> make_conv_shape(const EvalCall& call, std::span<const int64_t> x,
                                  std::span<const int64_t> w) {
  ConvShape shape;
  if (x.size() < 2 || w.size() != x.size())
    return call.bad_shape("input {} and weights {} do not fit", dims_text(x), dims_text(w));
  shape.batch = x[0];
  shape.channels = x[1];
  shape.filters = w[0];
  shape.groups = call.node.get(attributes::Conv::group);
  if (shape.groups < 1 || shape.filters % shape.groups != 0 ||
      w[1] * shape.groups != shape.channels) {
    return call.bad_shape("input {} and weights {} do not fit {} groups", dims_text(x),
                          dims_text(w), shape.groups);
  }
  SLUICE_ASSIGN(shape.window, make_window(call, x.subspan(2), {w.begin() + 2, w.end()}));
  shape.y = {shape.batch, shape.filters};
  shape.y.insert(shape.y.end(), shape.window.out.begin(), shape.window.out.end());
  return shape;
}

template <typename T>
void convolve(const ConvShape& shape, const T* x, const T* w, T pad, T* y) {
  const int64_t depth = shape.channels / shape.groups * shape.window.taps();
  const int64_t filters = shape.filters / shape.groups;
  const int64_t positions = shape.window.out_size();
  std::vector<T> columns(static_cast<size_t>(depth * kPositions));
  std::vector<int64_t> taps(static_cast<size_t>(shape.window.taps() * kPositions));
  std::vector<int64_t> one(static_cast<size_t>(shape.window.taps()));
  for (int64_t first = 0; first < positions; first += kPositions) {
    const int64_t count = std::min(kPositions, positions - first);
    for (int64_t i = 0; i < count; ++i) {
      window_taps(shape.window, first + i, one.data());
      for (size_t tap = 0; tap < one.size(); ++tap)
        taps[tap * kPositions + static_cast<size_t>(i)] = one[tap];
    }
    for (int64_t part = 0; part < shape.batch * shape.groups; ++part) {
      const int64_t group = part % shape.groups;
      gather_columns(shape, x + part * (shape.channels / shape.groups) * shape.window.in_size(),
                     taps, count, pad, columns.data());
      multiply_add<T>(filters, depth, count, w + group * filters * depth, depth, columns.data(),
                      kPositions, y + part * filters * positions + first, positions);
    }
  }
}

template void convolve<float>(const ConvShape&, const float*, const float*, float, float*);
template void convolve<double>(const ConvShape&, const double*, const double*, double, double*);
template void convolve<int32_t>(const ConvShape&, const int32_t*, const int32_t*, int32_t,
                                int32_t*);

Result<void> eval_conv(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& w = call.input(1);
  const Input& bias = call.input(2);
  SLUICE_ASSIGN(const ConvShape shape, make_conv_shape(call, x.dims, w.dims));
  if (w.dtype != x.dtype) return call.bad_value("input and weights have different types");
  if (bias.present() && (bias.count != shape.filters || bias.dtype != x.dtype))
    return call.bad_shape("the bias does not fit {} filters", shape.filters);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  if (y.count == 0) return {};  // with a dim of 0 the others may be huge
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    const int64_t positions = shape.window.out_size();
    for (int64_t plane = 0; plane < shape.batch * shape.filters; ++plane) {
      std::fill_n(y.as<T>() + plane * positions, positions,
                  bias.present() ? bias.as<T>()[plane % shape.filters] : T(0));
    }
    convolve<T>(shape, x.as<T>(), w.as<T>(), T(0), y.as<T>());
    return {};
  });
}

}  // namespace sluice::eval
