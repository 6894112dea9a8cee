// ConvTranspose, MaxUnpool and Col2Im: every input element is added to, or stored at, the positions
// that a window would have read.
#include <algorithm>
#include <cstring>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/broadcast.h"
#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/eval/matrix.h"
#include "common/eval/window.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

// Returns the window of the convolution that this one transposes: its input is our output.
Result<Window> transposed_window(const EvalCall& call, std::span<const int64_t> in,
                                 std::vector<int64_t> kernel) {
  Window window;
  const size_t rank = in.size();
  window.out.assign(in.begin(), in.end());
  window.kernel = std::move(kernel);
  window.strides = call.node.get(attributes::Strided::strides, rank);
  window.dilations = call.node.get(attributes::Dilated::dilations, rank);
  std::vector<int64_t> pads = call.node.get(attributes::Strided::pads, 2 * rank);
  const auto extra = call.node.get(attributes::ConvTranspose::output_padding, rank);
  const auto shape = call.node.get(attributes::ConvTranspose::output_shape);
  const std::string auto_pad = call.node.get(attributes::Window::auto_pad);
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  const bool sized = window.kernel.size() == rank && window.strides.size() == rank &&
                     window.dilations.size() == rank && pads.size() == 2 * rank &&
                     extra.size() == rank;
  if (!sized || (!shape.empty() && shape.size() < rank))
    return call.bad_value("attributes do not fit {} spatial axes", rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    if (window.strides[axis] < 1 || window.dilations[axis] < 1)
      return call.bad_value("a stride or dilation is not positive");
    const int64_t taps = plus(times(window.kernel[axis] - 1, window.dilations[axis]), 1);
    const int64_t whole = plus(plus(times(in[axis] - 1, window.strides[axis]), extra[axis]), taps);
    int64_t out = whole - pads[axis] - pads[rank + axis];
    if (!shape.empty()) out = shape[shape.size() - rank + axis];
    if (shape.empty() && same) out = times(in[axis], window.strides[axis]);
    if (!shape.empty() || same) {
      const int64_t total = std::max<int64_t>(whole - out, 0);
      pads[axis] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      pads[rank + axis] = total - pads[axis];
    }
    if (out < 0) return call.bad_shape("the output would have a negative extent");
    window.in.push_back(out);
  }
  window.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  window.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  return window;
}

}  // namespace

Result<void> eval_conv_transpose(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& w = call.input(1);
  const Input& bias = call.input(2);
  const int64_t groups = call.node.get(attributes::Conv::group);
  if (x.rank() < 3 || w.rank() != x.rank() || w.dims[0] != x.dims[1] || groups < 1 ||
      w.dims[0] % groups != 0 || w.dtype != x.dtype) {
    return call.bad_shape("input {} and weights {} do not fit", dims_text(x.dims),
                          dims_text(w.dims));
  }
  SLUICE_ASSIGN(const Window window,
                transposed_window(call, x.dims.subspan(2), {w.dims.begin() + 2, w.dims.end()}));
  const int64_t channels = x.dims[1] / groups;
  const int64_t filters = w.dims[1];
  if (bias.present() && bias.count != filters * groups)
    return call.bad_shape("the bias does not fit {} filters", filters * groups);
  std::vector<int64_t> dims = {x.dims[0], filters * groups};
  dims.insert(dims.end(), window.in.begin(), window.in.end());
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  if (y.count == 0) return {};  // with a dim of 0 the others may be huge
  const int64_t positions = window.out_size();
  const int64_t taps = window.taps();
  std::vector<int64_t> targets(static_cast<size_t>(positions * taps));
  for (int64_t p = 0; p < positions; ++p) window_taps(window, p, targets.data() + p * taps);
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    const int64_t size = window.in_size();
    for (int64_t plane = 0; plane < x.dims[0] * filters * groups; ++plane) {
      std::fill_n(y.as<T>() + plane * size, size,
                  bias.present() ? bias.as<T>()[plane % (filters * groups)] : T(0));
    }
    std::vector<T> turned(static_cast<size_t>(filters * taps * channels));
    std::vector<T> columns(static_cast<size_t>(filters * taps * positions));
    for (int64_t part = 0; part < x.dims[0] * groups; ++part) {
      const T* weights = w.as<T>() + part % groups * channels * filters * taps;
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t k = 0; k < filters * taps; ++k)
          turned[static_cast<size_t>(k * channels + c)] = weights[c * filters * taps + k];
      }
      std::ranges::fill(columns, T(0));
      multiply_add<T>(filters * taps, channels, positions, turned.data(), channels,
                      x.as<T>() + part * channels * positions, positions, columns.data(),
                      positions);
      for (int64_t k = 0; k < filters * taps; ++k) {
        T* to = y.as<T>() + (part * filters + k / taps) * size;
        for (int64_t p = 0; p < positions; ++p) {
          const int64_t at = targets[static_cast<size_t>(p * taps + k % taps)];
          if (at >= 0) to[at] += columns[static_cast<size_t>(k * positions + p)];
        }
      }
    }
    return {};
  });
}

Result<void> eval_max_unpool(EvalCall& call) {
  const Input& x = call.input(0);
  const auto kernel = call.node.get(attributes::MaxUnpool::kernel_shape);
  const auto indices = call.ints(1);
  if (x.rank() < 3 || static_cast<int64_t>(kernel.size()) + 2 != x.rank() ||
      static_cast<int64_t>(indices.size()) != x.count)
    return call.bad_shape("kernel and indices do not fit the input {}", dims_text(x.dims));
  const auto strides = call.node.get(attributes::Strided::strides, kernel.size());
  const auto pads = call.node.get(attributes::Strided::pads, 2 * kernel.size());
  std::vector<int64_t> inferred = {x.dims[0], x.dims[1]};
  for (size_t i = 0; i < kernel.size(); ++i)
    inferred.push_back(plus(plus(times(x.dims[i + 2] - 1, strides[i]), kernel[i] - pads[i]),
                            -pads[kernel.size() + i]));
  const std::vector<int64_t> dims = call.has(2) ? call.ints(2) : inferred;
  if (dims.size() != inferred.size())
    return call.bad_shape("the output shape {} does not fit", dims_text(dims));
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  if (y.count == 0) return {};  // with a dim of 0 the others may be huge
  const auto from = dense_strides(inferred);
  const auto to = dense_strides(dims);
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    std::fill_n(y.as<T>(), y.count, T(0));
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] < 0 || indices[i] >= product(inferred))
        return call.bad_value("index {} lies outside the output", indices[i]);
      int64_t at = 0;  // indices refer to the shape that the pooling had
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        const int64_t along = indices[i] / from[axis] % inferred[axis];
        if (along >= dims[axis])
          return call.bad_value("index {} lies outside the output", indices[i]);
        at += along * to[axis];
      }
      y.as<T>()[at] = x.as<T>()[i];
    }
    return {};
  });
}

Result<void> eval_col2im(EvalCall& call) {
  const Input& x = call.input(0);
  const auto image = call.ints(1);
  const auto block = call.ints(2);
  if (x.rank() != 3 || image.size() != block.size() || image.empty())
    return call.bad_shape("the input {}, image and block do not fit", dims_text(x.dims));
  SLUICE_ASSIGN(const Window window, make_window(call, image, block));
  const int64_t taps = window.taps();
  const int64_t positions = window.out_size();
  if (taps == 0 || x.dims[1] % taps != 0 || x.dims[2] != positions)
    return call.bad_shape("the input {} does not fit {} blocks of {}", dims_text(x.dims), positions,
                          taps);
  const int64_t channels = x.dims[1] / taps;
  std::vector<int64_t> dims = {x.dims[0], channels};
  dims.insert(dims.end(), image.begin(), image.end());
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  if (y.count == 0) return {};  // with a dim of 0 the others may be huge
  std::vector<int64_t> targets(static_cast<size_t>(taps));
  return visit_product(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    std::fill_n(y.as<T>(), y.count, T(0));
    for (int64_t p = 0; p < positions; ++p) {
      window_taps(window, p, targets.data());
      for (int64_t row = 0; row < x.dims[0] * x.dims[1]; ++row) {
        const int64_t at = targets[static_cast<size_t>(row % taps)];
        T* plane = y.as<T>() + row / taps * window.in_size();
        if (at >= 0) plane[at] = static_cast<T>(plane[at] + x.as<T>()[row * positions + p]);
      }
    }
    return {};
  });
}

}  // namespace sluice::eval
