#include "common/ops/window.h"

#include <algorithm>

#include "common/ir/shape_mismatch.h"
#include "common/ops/attributes.h"

namespace sluice {
namespace {

struct Slide {
  int64_t stride;
  int64_t before;
  int64_t after;
};

Result<Dim> window_dim(InferCall& call, const Dim& in, const Dim& extent, const Slide& slide,
                       bool ceil) {
  DimMath& math = call.math;
  const Dim padded = math.add(in, math.add(Dim::fixed(slide.before), slide.after));
  const Dim slack = math.subtract(padded, extent);
  // A node of a body might never run with the sizes that do not fit.
  const bool is_always_run = call.node.graph().id() == 0;
  const bool fits =
      is_always_run ? math.require_min(slack, 0) : !slack.is_fixed() || slack.value >= 0;
  if (!fits) {
    const std::string size = in.is_fixed() ? fmt::format("{}", in.value)
                                           : call.module.expressions.text(math.expression(in));
    return call.bad_shape(
        "{}", window_mismatch(math.bounds(extent).low, size, slide.before, slide.after));
  }
  if (!ceil) return math.add(math.floor_divide(slack, slide.stride), 1);
  // Only windows that start inside count.
  const Dim last = math.ceil_divide(math.add(in, slide.before), slide.stride);
  return math.minimum(math.add(math.ceil_divide(slack, slide.stride), 1), last);
}

}  // namespace

Dim window_extent(InferCall& call, const Dim& kernel, int64_t dilation) {
  return call.math.add(call.math.multiply(call.math.add(kernel, -1), dilation), 1);
}

Result<Dims> window_dims(InferCall& call, std::span<const Dim> in, std::span<const Dim> kernel) {
  const size_t count = in.size();
  SLUICE_ASSIGN(const auto strides, call.ints(attributes::Strided::strides, count, 1));
  SLUICE_ASSIGN(const auto dilations, call.ints(attributes::Dilated::dilations, count, 1));
  SLUICE_ASSIGN(auto pads, call.ints(attributes::Strided::pads, 2 * count, 0));
  const std::string auto_pad = call.node.get(attributes::Window::auto_pad);
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID")
    return call.bad_node("attribute 'auto_pad' is '{}'", auto_pad);
  if (auto_pad == "VALID") std::fill(pads.begin(), pads.end(), 0);
  const bool ceil = call.node.get(attributes::Pool::ceil_mode) != 0;
  Dims dims;
  for (size_t i = 0; i < count; ++i) {
    if (kernel[i].is_fixed() && kernel[i].value <= 0)
      return call.bad_shape("the window has the size {}", kernel[i].value);
    if (same) {
      SLUICE_TRY(call.expect_min(in[i], 1, fmt::format("spatial dim {}", i)));
      dims.push_back(call.math.ceil_divide(in[i], strides[i]));
      continue;
    }
    const Dim extent = window_extent(call, kernel[i], dilations[i]);
    SLUICE_ASSIGN(const Dim dim,
                  window_dim(call, in[i], extent, {strides[i], pads[i], pads[i + count]}, ceil));
    dims.push_back(dim);
  }
  return dims;
}

namespace {

// Returns the window of a convolution from its weights, which must be equal to the attribute
// kernel_shape where that is present.
Result<Dims> convolution_kernel(InferCall& call, size_t w, size_t count) {
  Dims kernel(count, Dim::unknown());
  if (const Shape weights = call.shape(w))
    std::copy(weights->begin() + 2, weights->end(), kernel.begin());
  if (!call.node.has(attributes::Conv::kernel_shape)) return kernel;
  SLUICE_ASSIGN(const auto given, call.ints(attributes::Conv::kernel_shape, count, 1));
  for (size_t i = 0; i < count; ++i) {
    SLUICE_ASSIGN(kernel[i], call.unify(kernel[i], Dim::fixed(given[i]),
                                        "the kernel of " + call.input_name(w) +
                                            " and attribute 'kernel_shape'"));
  }
  return kernel;
}

}  // namespace

Result<Shape> convolution_shape(InferCall& call, size_t x, size_t w) {
  SLUICE_TRY(call.expect_rank(x, 3, INT64_MAX));
  SLUICE_TRY(call.expect_rank(w, 3, INT64_MAX));
  const int64_t group = call.node.get(attributes::Conv::group);
  if (group < 1) return call.bad_node("attribute 'group' is {}, expected at least 1", group);
  const Shape input = call.shape(x);
  const Shape weights = call.shape(w);
  if (!input && !weights) return Shape();
  const int64_t rank = input ? rank_of(*input) : rank_of(*weights);
  SLUICE_TRY(call.expect_rank(w, rank));
  const Dim channels = call.dim(x, 1);
  SLUICE_TRY(call.unify(channels, call.math.multiply(call.dim(w, 1), group),
                        fmt::format("channels of {} and of {} times group {}", call.input_name(x),
                                    call.input_name(w), group)));
  const Dim outputs = call.dim(w, 0);
  SLUICE_TRY(call.expect_multiple(outputs, group, "output channels, in groups,"));
  const auto spatial = static_cast<size_t>(rank - 2);
  SLUICE_ASSIGN(const Dims kernel, convolution_kernel(call, w, spatial));
  const Dims in = input ? Dims(input->begin() + 2, input->end()) : Dims(spatial, Dim::unknown());
  SLUICE_ASSIGN(const Dims out, window_dims(call, in, kernel));
  Dims dims{call.dim(x, 0), outputs};
  dims.insert(dims.end(), out.begin(), out.end());
  return Shape(std::move(dims));
}

Result<Shape> matmul_shape(InferCall& call, size_t a, size_t b) {
  SLUICE_TRY(call.expect_rank(a, 1, INT64_MAX));
  SLUICE_TRY(call.expect_rank(b, 1, INT64_MAX));
  const Shape left = call.shape(a);
  const Shape right = call.shape(b);
  if (!left || !right) return Shape();
  const size_t m = left->size();
  const size_t n = right->size();
  SLUICE_TRY(
      call.unify(left->back(), (*right)[n < 2 ? 0 : n - 2],
                 fmt::format("inner dims of {} and {}", call.input_name(a), call.input_name(b))));
  const Dims left_batch(left->begin(),
                        left->end() - static_cast<std::ptrdiff_t>(std::min<size_t>(m, 2)));
  const Dims right_batch(right->begin(),
                         right->end() - static_cast<std::ptrdiff_t>(std::min<size_t>(n, 2)));
  SLUICE_ASSIGN(Shape batch, call.broadcast(left_batch, right_batch));
  if (m > 1) batch->push_back((*left)[m - 2]);
  if (n > 1) batch->push_back(right->back());
  return batch;
}

}  // namespace sluice
