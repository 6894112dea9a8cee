// Resize. The input is interpolated along one axis after the other:
//
//   y[i, k] = sum over taps of k of weight * (sum over taps of i of weight * x[tap, tap])
//
// Places and weights are computed in f64 from the index, as the evaluator computes its tables.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/loop/lower/arithmetic.h"
#include "common/loop/lower/families.h"
#include "common/loop/lower/operands.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

struct ResizeOptions {
  std::string mode, coordinates, nearest;
  double cubic;
  bool exclude_outside, antialias, crops;
};

ResizeOptions resize_options_of(const Node& node) {
  ResizeOptions options;
  options.mode = node.get(attributes::Resize::mode);
  options.coordinates = node.get(attributes::Resize::coordinate_transformation_mode);
  options.nearest = node.get(attributes::Resize::nearest_mode);
  options.cubic = node.get(attributes::Resize::cubic_coeff_a);
  options.exclude_outside = node.get(attributes::Resize::exclude_outside) != 0;
  options.antialias = node.get(attributes::Resize::antialias) != 0;
  options.crops = options.coordinates == "tf_crop_and_resize";
  return options;
}

std::vector<size_t> resized_axes(const Node& node) {
  const size_t rank = node.output().type().dims.size();
  std::vector<int64_t> named = node.get(attributes::Resize::axes);
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (!named.empty()) axes.clear();
  for (const int64_t axis : named) axes.push_back(Lowering::axis_of(axis, rank));
  return axes;
}

// The scales where they are numbers: given, or those of fixed sizes. Sizes with a policy have one
// scale for all axes.
std::optional<std::vector<double>> known_scales(const Node& node) {
  if (auto scales = Lowering::reals(node, 2); scales && !scales->empty()) return scales;
  const auto sizes = Lowering::integers(node, 3);
  const std::vector<size_t> axes = resized_axes(node);
  if (!sizes || sizes->size() != axes.size()) return std::nullopt;
  std::vector<double> scales;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim& in = node.input(0)->type().dims[axes[i]];
    if (!in.is_fixed() || in.value == 0) return std::nullopt;
    scales.push_back(static_cast<double>((*sizes)[i]) / static_cast<double>(in.value));
  }
  const std::string policy = node.get(attributes::Resize::keep_aspect_ratio_policy);
  if (policy == "stretch" || scales.empty()) return scales;
  const double scale = policy == "not_larger" ? *std::ranges::min_element(scales)
                                              : *std::ranges::max_element(scales);
  return std::vector<double>(scales.size(), scale);
}

// ---- places

struct Axis {
  size_t axis;
  ExpressionId from, to;  // extents
  Id in, out, scale;      // f64
  Id roi_start, roi_end;
};

// roi_start of the input, plus its part up to roi_end that lies before `at`.
Id cropped_place(Lowering& l, const Axis& axis, Id at) {
  const Id one = real_f64(l, 1), last = sub_f64(l, axis.in, one);
  const Id middle =
      mul_f64(l, mul_f64(l, real_f64(l, 0.5), add_f64(l, axis.roi_start, axis.roi_end)), last);
  const Id span = mul_f64(l, mul_f64(l, at, sub_f64(l, axis.roi_end, axis.roi_start)), last);
  const Id spread =
      add_f64(l, mul_f64(l, axis.roi_start, last), div_f64(l, span, sub_f64(l, axis.out, one)));
  return folded_select(l, less_or_equal(l, axis.out, one), middle, spread);
}

// The place of element `at` of the result in the input. `exact` is the extent before rounding.
Id source_place(Lowering& l, const Axis& axis, const std::string& mode, Id at) {
  if (mode == "asymmetric") return div_f64(l, at, axis.scale);
  if (mode == "tf_crop_and_resize") return cropped_place(l, axis, at);
  const Id half = real_f64(l, 0.5), one = real_f64(l, 1), zero = real_f64(l, 0);
  if (mode == "align_corners") {
    const Id exact = mul_f64(l, axis.in, axis.scale);
    const Id place = div_f64(l, mul_f64(l, at, sub_f64(l, axis.in, one)), sub_f64(l, exact, one));
    return folded_select(l, less_or_equal(l, axis.out, one), zero, place);
  }
  const Id center = div_f64(l, add_f64(l, at, half), axis.scale);
  if (mode == "tf_half_pixel_for_nn") {  // an axis that keeps its extent is left as it is
    const Id grows = less(l, one, axis.scale), shrinks = less(l, axis.scale, one);
    return folded_select(l, grows, center, folded_select(l, shrinks, center, at));
  }
  if (mode == "half_pixel_symmetric") {
    const Id exact = mul_f64(l, axis.in, axis.scale);
    const Id shift = mul_f64(l, div_f64(l, axis.in, real_f64(l, 2)),
                             sub_f64(l, one, div_f64(l, axis.out, exact)));
    return sub_f64(l, add_f64(l, shift, center), half);
  }
  const Id place = sub_f64(l, center, half);
  return mode == "pytorch_half_pixel"
             ? folded_select(l, less_or_equal(l, axis.out, one), zero, place)
             : place;
}

Id nearest_place(Lowering& l, const std::string& mode, Id x) {
  const Id half = real_f64(l, 0.5);
  if (mode == "floor") return floor(l, x);
  if (mode == "ceil") return l.scalar(ScalarOp::kCeil, x);
  if (mode == "round_prefer_ceil") return floor(l, add_f64(l, x, half));
  return l.scalar(ScalarOp::kCeil, sub_f64(l, x, half));
}

// The whole number that repeats every element so many times in a row, or 0: then no place lies
// between two elements at equal distances, and rounding cannot make a difference.
int64_t repetition(Lowering& l, const ResizeOptions& options, const Axis& axis) {
  const auto scale = l.known_real(axis.scale);
  if (!scale || *scale != std::floor(*scale) || *scale > 1 << 20) return 0;
  const auto repeats = static_cast<int64_t>(*scale);
  if (axis.to != l.table().multiply(axis.from, l.number(repeats))) return 0;
  const bool rounds =
      options.nearest == "round_prefer_floor" || options.nearest == "round_prefer_ceil";
  const bool centers = options.coordinates == "half_pixel" ||
                       options.coordinates == "pytorch_half_pixel" ||
                       options.coordinates == "half_pixel_symmetric";
  const bool floors = options.nearest == "floor" && (options.coordinates == "asymmetric" ||
                                                     options.coordinates == "tf_half_pixel_for_nn");
  return (rounds && centers) || floors ? repeats : 0;
}

// ---- taps

struct ResizeTap {
  ExpressionId index;
  Id weight = -1;  // f64; nothing: 1
};

struct Taps {
  std::vector<ResizeTap> taps;
  Id outside = -1;  // bool: the result is the extrapolation value
};

double stretch_of(const ResizeOptions& options, std::optional<double> scale) {
  return options.antialias && scale && *scale < 1 ? *scale : 1;
}

int64_t tap_count(const ResizeOptions& options, std::optional<double> scale) {
  if (options.mode == "nearest") return 1;
  const double support = (options.mode == "cubic" ? 2 : 1) / stretch_of(options, scale);
  return static_cast<int64_t>(std::min(std::ceil(2 * support), 1e6));
}

// The elements around place x, with weights whose sum is 1.
std::vector<ResizeTap> interpolated_taps(Lowering& l, const ResizeOptions& options,
                                         const Axis& axis, Id x) {
  const auto scale = l.known_real(axis.scale);
  const double stretch = stretch_of(options, scale);
  const double support = (options.mode == "cubic" ? 2 : 1) / stretch;
  const Id first = add_f64(l, floor(l, sub_f64(l, x, real_f64(l, support))), real_f64(l, 1));
  const Id zero = real_f64(l, 0);
  std::vector<ResizeTap> taps;
  Id sum = -1;
  for (int64_t i = 0; i < tap_count(options, scale); ++i) {
    const Id at = add_f64(l, first, real_f64(l, static_cast<double>(i)));
    const Id distance = mul_f64(l, sub_f64(l, at, x), real_f64(l, stretch));
    Id weight = options.mode == "cubic" ? cubic_weight(l, distance, options.cubic)
                                        : linear_weight(l, distance);
    if (options.exclude_outside) {
      const Id inside =
          logical(l, ScalarOp::kAnd, less_or_equal(l, zero, at), less(l, at, axis.in));
      weight = folded_select(l, inside, weight, zero);
    }
    taps.push_back({index_of(l, at, axis.from), weight});
    sum = i == 0 ? weight : add_f64(l, sum, weight);
  }
  for (ResizeTap& tap : taps) tap.weight = div_f64(l, tap.weight, sum);
  return taps;
}

Taps make_resize_taps(Lowering& l, const ResizeOptions& options, const Axis& axis,
                      ExpressionId at) {
  Taps taps;
  if (options.mode == "nearest") {
    if (const int64_t repeats = repetition(l, options, axis); repeats > 0)
      return {{{l.table().floor_divide(at, l.number(repeats))}}};
  }
  const Id x = source_place(l, axis, options.coordinates, from_size(l, at));
  if (options.crops) {
    const Id last = sub_f64(l, axis.in, real_f64(l, 1));
    taps.outside = logical(l, ScalarOp::kOr, less(l, x, real_f64(l, 0)), less(l, last, x));
  }
  if (options.mode != "nearest") {
    taps.taps = interpolated_taps(l, options, axis, x);
  } else {
    taps.taps = {{index_of(l, nearest_place(l, options.nearest, x), axis.from)}};
  }
  return taps;
}

// ---- the whole

class Resizer {
 public:
  Resizer(Lowering& l, const Node& node, const Index& index)
      : l_(l), node_(node), options_(resize_options_of(node)), index_(index) {
    const DType dtype = register_dtype(node.output().type().dtype);
    const bool copies = options_.mode == "nearest" && !options_.crops;
    dtype_ = copies || dtype == DType::kF32 ? dtype : DType::kF64;
  }

  Result<Id> run() {
    SLUICE_TRY(find_axes());
    SLUICE_ASSIGN(const Id sum, sampled(axes_.size()));
    return l_.cast(sum, register_dtype(node_.output().type().dtype));
  }

 private:
  Result<void> find_axes() {
    const Value &x = *node_.input(0), &y = node_.output();
    const std::vector<size_t> axes = resized_axes(node_);
    const auto scales = known_scales(node_);
    for (size_t i = 0; i < axes.size(); ++i) {
      Axis axis{axes[i], l_.extent(x, axes[i]), l_.extent(y, axes[i]), -1, -1, -1, -1, -1};
      const bool keeps = scales ? (*scales)[i] == 1 : axis.from == axis.to;
      if (keeps && axis.from == axis.to && !options_.crops) continue;
      axis.in = from_size(l_, axis.from), axis.out = from_size(l_, axis.to);
      axis.scale = scales ? real_f64(l_, (*scales)[i]) : div_f64(l_, axis.out, axis.in);
      axis.roi_start = real_f64(l_, 0), axis.roi_end = real_f64(l_, 1);
      if (options_.crops && has_roi(axes.size())) {
        SLUICE_ASSIGN(axis.roi_start, real_at(l_, node_, 1, i));
        SLUICE_ASSIGN(axis.roi_end, real_at(l_, node_, 1, axes.size() + i));
      }
      axes_.push_back(axis);
      taps_.push_back(make_resize_taps(l_, options_, axis, index_[axis.axis]));
      guards_.push_back(l_.not_empty(axis.from));
    }
    return {};
  }

  bool has_roi(size_t axes) const {
    const Value* roi = node_.input(1);
    return roi != nullptr && roi->type().element_count() == static_cast<int64_t>(2 * axes);
  }

  // The input interpolated along the first `count` axes.
  Result<Id> sampled(size_t count) {
    if (count == 0) {
      SLUICE_ASSIGN(const Id x, l_.element_if(*node_.input(0), index_, guards_));
      return l_.cast(x, dtype_);
    }
    const Taps& taps = taps_[count - 1];
    ExpressionId& place = index_[axes_[count - 1].axis];
    const ExpressionId own = place;
    Id sum = -1;
    for (const ResizeTap& tap : taps.taps) {
      place = tap.index;
      SLUICE_ASSIGN(const Id x, sampled(count - 1));
      sum = tap.weight < 0 ? x : added(sum, tap.weight, x);
    }
    place = own;
    if (taps.outside < 0) return sum;
    const double outside = node_.get(attributes::Resize::extrapolation_value);
    return folded_select(l_, taps.outside, l_.real(dtype_, outside), sum);
  }

  // Elements of weight 0 do not count, whatever they are.
  Id added(Id sum, Id weight, Id x) {
    const Id own = l_.cast(weight, dtype_), zero = l_.real(dtype_, 0);
    if (sum < 0) sum = zero;
    const Id next = l_.scalar(ScalarOp::kAdd, sum, l_.scalar(ScalarOp::kMul, own, x));
    return folded_select(l_, l_.scalar(ScalarOp::kEqual, own, zero), sum, next);
  }

  Lowering& l_;
  const Node& node_;
  ResizeOptions options_;
  Index index_;
  DType dtype_;  // of sums
  std::vector<Axis> axes_;
  std::vector<Taps> taps_;  // by axis
  std::vector<Guard> guards_;
};

Result<Id> resize(Lowering& l, const Node& node, size_t, const Index& index) {
  return Resizer(l, node, index).run();
}

std::string resize_reason(const Node& node) {
  const ResizeOptions options = resize_options_of(node);
  const auto scales = known_scales(node);
  const Value* given = node.input(2);
  const bool scaled = given != nullptr && given->type().element_count() != 0;
  if (scaled && !scales) return "the scales are known only while running";
  if (!scales && node.get(attributes::Resize::keep_aspect_ratio_policy) != "stretch")
    return "the scale that keeps the aspect ratio is known only while running";
  if (!scales && options.antialias) return "how far to smooth is known only while running";
  int64_t taps = 1;
  for (size_t i = 0; i < resized_axes(node).size() && taps <= kMaxSampleTaps; ++i) {
    const auto scale = scales ? std::optional((*scales)[i]) : std::nullopt;
    if (scale != 1 || options.crops) taps *= tap_count(options, scale);
  }
  return taps <= kMaxSampleTaps
             ? std::string()
             : fmt::format("an element is made from more than {}", kMaxSampleTaps);
}

constexpr LoweringRow kResizeRows[] = {{Op::kResize, resize_reason, resize}};

}  // namespace

std::span<const LoweringRow> resize_rows() { return kResizeRows; }

}  // namespace sluice::loop
