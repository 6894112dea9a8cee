// Resize: one axis after the other, each with its own table of sources and weights.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/elementwise.h"
#include "common/eval/kernels.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

struct ResizeAxis {
  int64_t axis = 0;
  int64_t in = 0;
  int64_t out = 0;
  double scale = 1;
  double roi_start = 0;
  double roi_end = 1;
};

struct Taps {
  std::vector<int64_t> index;  // in the input; -1 means the extrapolation value
  std::vector<double> weight;
};

struct ResizeOptions {
  std::string mode;
  std::string coordinates;
  std::string nearest;
  double cubic = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  float outside = 0;  // the attribute extrapolation_value
};

// Returns the position of output `at` in the input.
double source_position(const ResizeAxis& axis, const std::string& mode, double at) {
  const auto in = static_cast<double>(axis.in);
  const auto out = static_cast<double>(axis.out);
  const double exact = in * axis.scale;
  if (mode == "asymmetric") return at / axis.scale;
  if (mode == "pytorch_half_pixel") return out > 1 ? (at + 0.5) / axis.scale - 0.5 : 0;
  if (mode == "align_corners")
    return axis.out == 1 ? 0 : at * (in - 1) / (exact - 1);  // exact: the extent before rounding
  if (mode == "tf_crop_and_resize") {
    if (axis.out == 1) return 0.5 * (axis.roi_start + axis.roi_end) * (in - 1);
    return axis.roi_start * (in - 1) + at * (axis.roi_end - axis.roi_start) * (in - 1) / (out - 1);
  }
  if (mode == "tf_half_pixel_for_nn") return (at + 0.5) / axis.scale;
  if (mode == "half_pixel_symmetric") {
    const double center = in / 2;
    return center * (1 - out / exact) + (at + 0.5) / axis.scale - 0.5;
  }
  return (at + 0.5) / axis.scale - 0.5;  // for half_pixel
}

int64_t nearest_index(const std::string& mode, double x) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  return static_cast<int64_t>(std::ceil(x - 0.5));  // for round_prefer_floor
}

double cubic_weight(double distance, double a) {
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

double kernel_weight(const ResizeOptions& options, double distance) {
  if (options.mode == "cubic") return cubic_weight(distance, options.cubic);
  return std::max(0.0, 1 - std::abs(distance));
}

// Computes the taps of linear and cubic interpolation: the kernel around the position, stretched
// when antialiasing shrinks an axis, and normalized.
Taps interpolated_taps(const ResizeOptions& options, const ResizeAxis& axis, double x) {
  const double stretch = options.antialias && axis.scale < 1 ? axis.scale : 1;
  const double support = (options.mode == "cubic" ? 2 : 1) / stretch;
  Taps taps;
  double sum = 0;
  const auto first = static_cast<int64_t>(std::floor(x - support)) + 1;
  for (auto at = first; at < x + support || at == first; ++at) {
    double weight = kernel_weight(options, (static_cast<double>(at) - x) * stretch);
    if (options.exclude_outside && (at < 0 || at >= axis.in)) weight = 0;
    taps.index.push_back(std::clamp<int64_t>(at, 0, axis.in - 1));
    taps.weight.push_back(weight);
    sum += weight;
  }
  for (double& weight : taps.weight) weight /= sum;
  return taps;
}

Taps make_taps(const ResizeOptions& options, const ResizeAxis& axis, int64_t at) {
  const double x = source_position(axis, options.coordinates, static_cast<double>(at));
  if (options.coordinates == "tf_crop_and_resize" &&
      (x < 0 || x > static_cast<double>(axis.in - 1)))
    return {{-1}, {1}};
  if (options.mode == "nearest")
    return {{std::clamp<int64_t>(nearest_index(options.nearest, x), 0, axis.in - 1)}, {1}};
  return interpolated_taps(options, axis, x);
}

template <typename T>
std::vector<T> resize_axis(const std::vector<T>& x, std::vector<int64_t>& dims,
                           const ResizeAxis& axis, const ResizeOptions& options) {
  const AxisSplit split(dims, axis.axis);
  std::vector<T> y(static_cast<size_t>(split.outer * axis.out * split.inner), T(0));
  std::vector<Taps> taps;
  for (int64_t i = 0; i < axis.out; ++i) taps.push_back(make_taps(options, axis, i));
  for (int64_t outer = 0; outer < split.outer; ++outer) {
    for (int64_t i = 0; i < axis.out; ++i) {
      T* __restrict to = y.data() + (outer * axis.out + i) * split.inner;
      const Taps& own = taps[static_cast<size_t>(i)];
      if (own.index[0] < 0) {
        std::fill_n(to, split.inner, static_cast<T>(options.outside));
        continue;
      }
      for (size_t tap = 0; tap < own.index.size(); ++tap) {
        const T* __restrict from = x.data() + (outer * split.count + own.index[tap]) * split.inner;
        const auto weight = static_cast<T>(own.weight[tap]);
        if (own.index.size() == 1) {
          std::copy_n(from, split.inner, to);
        } else if (weight != T(0)) {
          for (int64_t k = 0; k < split.inner; ++k) to[k] += weight * from[k];
        }
      }
    }
  }
  dims[static_cast<size_t>(axis.axis)] = axis.out;
  return y;
}

// Resizes one axis after the other, except unchanged ones.
template <typename T>
std::vector<T> resize_axes(std::vector<T> values, std::vector<int64_t> dims,
                           const std::vector<ResizeAxis>& axes, const ResizeOptions& options) {
  for (const ResizeAxis& axis : axes) {
    const bool same =
        axis.out == axis.in && axis.scale == 1 && options.coordinates != "tf_crop_and_resize";
    if (!same) values = resize_axis(values, dims, axis, options);
  }
  return values;
}

// Applies keep_aspect_ratio_policy: one scale for all named axes.
void keep_aspect(const std::string& policy, std::vector<ResizeAxis>& axes) {
  if (policy == "stretch") return;
  const bool is_minimum = policy == "not_larger";
  double scale = is_minimum ? std::numeric_limits<double>::infinity() : 0;
  for (const ResizeAxis& axis : axes) {
    if (axis.in > 0) scale = is_minimum ? std::min(scale, axis.scale) : std::max(scale, axis.scale);
  }
  for (ResizeAxis& axis : axes) {
    if (axis.in == 0) continue;
    axis.scale = scale;
    axis.out = static_cast<int64_t>(std::floor(scale * static_cast<double>(axis.in) + 0.5));
  }
}

Result<std::vector<ResizeAxis>> find_axes(const EvalCall& call) {
  const Input& x = call.input(0);
  std::vector<int64_t> named = call.node.get(attributes::Resize::axes);
  if (named.empty()) {
    for (int64_t i = 0; i < x.rank(); ++i) named.push_back(i);
  }
  const auto roi = doubles_of(call.input(1));
  const auto scales = doubles_of(call.input(2));
  const auto sizes = call.ints(3);
  const bool by_size = scales.empty();
  if ((by_size ? sizes.size() : scales.size()) != named.size())
    return call.bad_shape("scales or sizes do not fit {} axes", named.size());
  std::vector<ResizeAxis> axes;
  for (size_t i = 0; i < named.size(); ++i) {
    ResizeAxis axis;
    SLUICE_ASSIGN(axis.axis, call.axis(named[i], x.rank()));
    axis.in = x.dims[static_cast<size_t>(axis.axis)];
    if (by_size && axis.in == 0 && sizes[i] != 0)
      return call.bad_value("axis {} is empty, it cannot have size {}", axis.axis, sizes[i]);
    if (!by_size) axis.scale = scales[i];
    if (by_size && axis.in > 0)
      axis.scale = static_cast<double>(sizes[i]) / static_cast<double>(axis.in);
    if (!(axis.scale > 0) || axis.scale * static_cast<double>(axis.in) > 1e9)
      return call.bad_value("axis {} cannot be scaled by {}", axis.axis, axis.scale);
    const bool crops =
        call.node.get(attributes::Resize::coordinate_transformation_mode) == "tf_crop_and_resize" &&
        roi.size() == 2 * named.size();
    if (crops) {
      axis.roi_start = roi[i];
      axis.roi_end = roi[named.size() + i];
    }
    const double extent = crops ? axis.roi_end - axis.roi_start : 1.0;
    axis.out =
        by_size
            ? sizes[i]
            : static_cast<int64_t>(std::floor(static_cast<double>(axis.in) * extent * axis.scale));
    axes.push_back(axis);
  }
  if (by_size && !axes.empty())
    keep_aspect(call.node.get(attributes::Resize::keep_aspect_ratio_policy), axes);
  return axes;
}

}  // namespace

Result<void> eval_resize(EvalCall& call) {
  const Input& x = call.input(0);
  SLUICE_ASSIGN(const auto axes, find_axes(call));
  ResizeOptions options;
  options.mode = call.node.get(attributes::Resize::mode);
  options.coordinates = call.node.get(attributes::Resize::coordinate_transformation_mode);
  options.nearest = call.node.get(attributes::Resize::nearest_mode);
  options.cubic = call.node.get(attributes::Resize::cubic_coeff_a);
  options.exclude_outside = call.node.get(attributes::Resize::exclude_outside) != 0;
  options.antialias = call.node.get(attributes::Resize::antialias) != 0;
  options.outside = call.node.get(attributes::Resize::extrapolation_value);
  std::vector<int64_t> dims = to_vector(x.dims);
  for (const ResizeAxis& axis : axes) dims[static_cast<size_t>(axis.axis)] = axis.out;
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  if (x.count == 0) return {};  // an empty axis stays empty
  if (x.dtype == DType::kF32) {
    std::vector<float> values(x.as<float>(), x.as<float>() + x.count);
    values = resize_axes<float>(std::move(values), to_vector(x.dims), axes, options);
    std::ranges::copy(values, y.as<float>());
    return {};
  }
  const bool copies = options.mode == "nearest" &&
                      options.coordinates != "tf_crop_and_resize";  // no element is computed
  if (x.logical == DType::kString && !copies) return call.unsupported(x.logical);
  if (number_class(x.dtype) == DType::kUndefined && x.dtype != DType::kBool)
    return call.unsupported(x.dtype);
  std::vector<double> values(static_cast<size_t>(x.count));
  load_doubles(x.dtype, x.data, 0, x.count, values.data());
  values = resize_axes<double>(std::move(values), to_vector(x.dims), axes, options);
  store_doubles(y.dtype, y.data, 0, y.count, values.data());
  return {};
}

}  // namespace sluice::eval
