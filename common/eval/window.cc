#include "common/eval/window.h"

#include <algorithm>

#include "common/ir/shape_mismatch.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

Result<std::vector<int64_t>> spatial_ints(const EvalCall& call, const IntsAttribute& attribute,
                                          size_t count) {
  std::vector<int64_t> values = call.node.get(attribute, count);
  if (values.size() != count)
    return call.bad_value("{} has {} numbers, expected {}", attribute.name, values.size(), count);
  return values;
}

// Computes SAME_UPPER and SAME_LOWER: as many outputs as strides fit, with the padding divided
// between both ends. Returns the number of outputs.
int64_t pad_to_same(Window& window, size_t axis, bool upper) {
  const int64_t reach = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
  const int64_t outputs = (window.in[axis] + window.strides[axis] - 1) / window.strides[axis];
  const int64_t total =
      std::max<int64_t>((outputs - 1) * window.strides[axis] + reach - window.in[axis], 0);
  window.begin[axis] = upper ? total / 2 : total - total / 2;
  window.end[axis] = total - window.begin[axis];
  return outputs;
}

Result<int64_t> outputs_along(const EvalCall& call, const Window& window, size_t axis, bool ceil) {
  const int64_t reach = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
  const int64_t slack = window.in[axis] + window.begin[axis] + window.end[axis] - reach;
  if (slack < 0)
    return call.bad_shape("{}", window_mismatch(reach, fmt::format("{}", window.in[axis]),
                                                window.begin[axis], window.end[axis]));
  const int64_t stride = window.strides[axis];
  int64_t outputs = (ceil ? slack + stride - 1 : slack) / stride + 1;
  if (ceil && (outputs - 1) * stride >= window.in[axis] + window.begin[axis])
    --outputs;  // no window starts in the padding at the end
  return outputs;
}

// The bound is larger than any memory, and small enough that no sum or product below overflows.
constexpr int64_t kMaxReach = int64_t{1} << 48;

bool is_sane(const Window& window, size_t axis) {
  const auto within = [](int64_t value, int64_t low) { return value >= low && value <= kMaxReach; };
  return within(window.strides[axis], 1) && within(window.dilations[axis], 1) &&
         within(window.kernel[axis], 0) &&
         window.kernel[axis] <= kMaxReach / window.dilations[axis] &&
         window.begin[axis] <= kMaxReach && window.end[axis] <= kMaxReach;
}

// Returns the start of the window along each axis.
std::vector<int64_t> window_start(const Window& window, int64_t position) {
  std::vector<int64_t> start(window.rank());
  for (size_t axis = window.rank(); axis-- > 0; position /= window.out[axis]) {
    start[axis] = position % window.out[axis] * window.strides[axis] - window.begin[axis];
  }
  return start;
}

}  // namespace

Result<Window> make_window(const EvalCall& call, std::span<const int64_t> in,
                           std::vector<int64_t> kernel) {
  Window window;
  const size_t rank = in.size();
  window.in.assign(in.begin(), in.end());
  window.kernel = std::move(kernel);
  if (window.kernel.size() != rank)
    return call.bad_shape("the kernel has {} axes, the input {}", window.kernel.size(), rank);
  SLUICE_ASSIGN(window.strides, spatial_ints(call, attributes::Strided::strides, rank));
  SLUICE_ASSIGN(window.dilations, spatial_ints(call, attributes::Dilated::dilations, rank));
  SLUICE_ASSIGN(const auto pads, spatial_ints(call, attributes::Strided::pads, 2 * rank));
  window.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  window.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  const std::string auto_pad = call.node.get(attributes::Window::auto_pad);
  const bool ceil = call.node.get(attributes::Pool::ceil_mode) != 0;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (!is_sane(window, axis))
      return call.bad_value(
          "a stride, dilation, kernel extent or padding is not positive or too large");
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      window.out.push_back(pad_to_same(window, axis, auto_pad == "SAME_UPPER"));
      continue;
    }
    if (auto_pad == "VALID") window.begin[axis] = window.end[axis] = 0;
    SLUICE_ASSIGN(const int64_t outputs, outputs_along(call, window, axis, ceil));
    window.out.push_back(outputs);
  }
  return window;
}

void window_taps(const Window& window, int64_t position, int64_t* taps) {
  const std::vector<int64_t> start = window_start(window, position);
  std::vector<int64_t> tap(window.rank(), 0);
  const int64_t count = window.taps();
  for (int64_t i = 0; i < count; ++i) {
    int64_t index = 0;
    bool inside = true;
    for (size_t axis = 0; axis < window.rank(); ++axis) {
      const int64_t at = start[axis] + tap[axis] * window.dilations[axis];
      inside = inside && at >= 0 && at < window.in[axis];
      index = index * window.in[axis] + at;
    }
    taps[i] = inside ? index : -1;
    for (size_t axis = window.rank(); axis-- > 0;) {
      if (++tap[axis] < window.kernel[axis]) break;
      tap[axis] = 0;
    }
  }
}

void add_taps_inside(const Window& window, int64_t position, std::vector<int64_t>& indices) {
  const std::vector<int64_t> start = window_start(window, position);
  std::vector<int64_t> first(window.rank()), last(window.rank());
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    const int64_t dilation = window.dilations[axis];
    first[axis] = start[axis] >= 0 ? 0 : (-start[axis] + dilation - 1) / dilation;
    const int64_t slack = window.in[axis] - start[axis];
    last[axis] = slack <= 0 ? 0 : std::min(window.kernel[axis], (slack + dilation - 1) / dilation);
    if (first[axis] >= last[axis]) return;
  }
  std::vector<int64_t> tap = first;
  while (true) {
    int64_t index = 0;
    for (size_t axis = 0; axis < window.rank(); ++axis) {
      index = index * window.in[axis] + start[axis] + tap[axis] * window.dilations[axis];
    }
    indices.push_back(index);
    size_t axis = window.rank();
    for (; axis > 0 && ++tap[axis - 1] == last[axis - 1]; --axis) tap[axis - 1] = first[axis - 1];
    if (axis == 0) return;
  }
}

int64_t taps_inside_padding(const Window& window, int64_t position) {
  const std::vector<int64_t> start = window_start(window, position);
  int64_t count = 1;
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    const int64_t slack = window.in[axis] + window.end[axis] - start[axis];
    const int64_t along = std::clamp<int64_t>(
        (slack + window.dilations[axis] - 1) / window.dilations[axis], 0, window.kernel[axis]);
    if (__builtin_mul_overflow(count, along, &count)) return INT64_MAX;
  }
  return count;
}

}  // namespace sluice::eval
