// Sampling of images: GridSample, AffineGrid, MaxRoiPool, RoiAlign, DeformConv, NonMaxSuppression.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "common/eval/axes.h"
#include "common/eval/broadcast.h"
#include "common/eval/conv.h"
#include "common/eval/dispatch.h"
#include "common/eval/kernels.h"
#include "common/eval/number.h"
#include "common/ops/attributes.h"

namespace sluice::eval {
namespace {

// Reflects x into [low, high].
double reflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double distance = x < low ? low - x : x - high;
  if (distance <= 0) return x;
  const double turns = std::floor(distance / range);
  const double remainder = distance - turns * range;
  const bool even = std::fmod(turns, 2) == 0;
  return (x < low) == even ? low + remainder : high - remainder;
}

struct GridOptions {
  std::string mode;
  std::string padding;
  bool align = false;
};

// The elements that one coordinate of a sample reads along its axis.
struct GridTaps {
  int64_t index[4];  // -1: zero
  double weight[4];
  int count = 0;
};

double low_border(const GridOptions& options) { return options.align ? 0.0 : -0.5; }
double high_border(const GridOptions& options, int64_t extent) {
  return static_cast<double>(extent) - (options.align ? 1.0 : 0.5);
}

int64_t padded_index(const GridOptions& options, int64_t at, int64_t extent) {
  if (at >= 0 && at < extent) return at;
  if (options.padding == "zeros") return -1;
  if (options.padding == "border") return std::clamp<int64_t>(at, 0, extent - 1);
  const double mirrored =
      reflected(static_cast<double>(at), low_border(options), high_border(options, extent));
  return std::clamp<int64_t>(static_cast<int64_t>(mirrored), 0, extent - 1);
}

double grid_cubic_weight(double distance) {
  constexpr double kA = -0.75;
  const double d = std::abs(distance);
  if (d <= 1) return ((kA + 2) * d - (kA + 3)) * d * d + 1;
  return d < 2 ? ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA : 0;
}

GridTaps grid_taps(const GridOptions& options, double coordinate, int64_t extent) {
  const auto length = static_cast<double>(extent);
  double x =
      options.align ? (coordinate + 1) / 2 * (length - 1) : ((coordinate + 1) * length - 1) / 2;
  GridTaps taps;
  if (!std::isfinite(x) || std::abs(x) > 1e15) x = -1e15;
  if (options.mode == "nearest") x = std::nearbyint(x);
  // Cubic weights are those of the coordinate outside the image; as in PyTorch and ONNX Runtime,
  // the border applies to each tap.
  if (options.padding == "border" && options.mode != "cubic") x = std::clamp(x, 0.0, length - 1);
  if (options.padding == "reflection")
    x = reflected(x, low_border(options), high_border(options, extent));
  const auto floor = static_cast<int64_t>(std::floor(x));
  if (options.mode == "nearest") {
    taps.count = 1;
    taps.index[0] = padded_index(options, static_cast<int64_t>(std::nearbyint(x)), extent);
    taps.weight[0] = 1;
    return taps;
  }
  const bool cubic = options.mode == "cubic";
  taps.count = cubic ? 4 : 2;
  for (int i = 0; i < taps.count; ++i) {
    const int64_t at = floor + i - (cubic ? 1 : 0);
    const double distance = x - static_cast<double>(at);
    taps.index[i] = padded_index(options, at, extent);
    taps.weight[i] = cubic ? grid_cubic_weight(distance) : 1 - std::abs(distance);
  }
  return taps;
}

template <typename T>
double sample_axis(const T* plane, std::span<const int64_t> dims, std::span<const GridTaps> taps,
                   int64_t offset) {
  if (dims.empty()) return static_cast<double>(plane[offset]);
  double sum = 0;
  for (int i = 0; i < taps[0].count; ++i) {
    if (taps[0].index[i] < 0) continue;
    sum += taps[0].weight[i] * sample_axis(plane, dims.subspan(1), taps.subspan(1),
                                           offset * dims[0] + taps[0].index[i]);
  }
  return sum;
}

// Samples: zero outside, linear inside.
template <typename T>
double bilinear(const T* plane, int64_t height, int64_t width, double y, double x) {
  if (!(y > -1 && y < static_cast<double>(height) && x > -1 && x < static_cast<double>(width)))
    return 0;
  const auto top = static_cast<int64_t>(std::floor(y));
  const auto left = static_cast<int64_t>(std::floor(x));
  double sum = 0;
  for (int64_t i = top; i < top + 2; ++i) {
    for (int64_t j = left; j < left + 2; ++j) {
      if (i < 0 || i >= height || j < 0 || j >= width) continue;
      sum += (1 - std::abs(y - static_cast<double>(i))) *
             (1 - std::abs(x - static_cast<double>(j))) * static_cast<double>(plane[i * width + j]);
    }
  }
  return sum;
}

struct SelectedBox {
  double y1, x1, y2, x2;
  double area() const { return (y2 - y1) * (x2 - x1); }
};

SelectedBox make_box(const float* from, bool center) {
  if (center)
    return {from[1] - from[3] / 2.0, from[0] - from[2] / 2.0, from[1] + from[3] / 2.0,
            from[0] + from[2] / 2.0};
  return {std::min(from[0], from[2]), std::min(from[1], from[3]), std::max(from[0], from[2]),
          std::max(from[1], from[3])};
}

double overlap(const SelectedBox& a, const SelectedBox& b) {
  if (a.x2 <= b.x1 || b.x2 <= a.x1 || a.y2 <= b.y1 || b.y2 <= a.y1) return 0;
  const double both =
      (std::min(a.y2, b.y2) - std::max(a.y1, b.y1)) * (std::min(a.x2, b.x2) - std::max(a.x1, b.x1));
  return both / (a.area() + b.area() - both);
}

// A box that may be chosen; of equal scores the first box is better.
struct Candidate {
  float score;
  int32_t box;
  bool operator<(const Candidate& other) const {
    return score != other.score ? score < other.score : box > other.box;
  }
};

// Boxes that were chosen, as columns of single precision that are not smaller than the boxes, so
// that many are compared at once.
class KeptBoxes {
 public:
  void add(const SelectedBox& box) {
    if (boxes_.size() % kBlock == 0) columns_.emplace_back();
    Columns& last = columns_.back();
    const size_t at = boxes_.size() % kBlock;
    last.y1[at] = below(box.y1), last.x1[at] = below(box.x1);
    last.y2[at] = -below(-box.y2), last.x2[at] = -below(-box.x2);
    boxes_.push_back(box);
  }
  size_t size() const { return boxes_.size(); }
  bool any_overlaps(const SelectedBox& box, double limit) const {
    const float y1 = below(box.y1), x1 = below(box.x1);
    const float y2 = -below(-box.y2), x2 = -below(-box.x2);
    for (size_t block = 0; block < columns_.size(); ++block) {
      const Columns& c = columns_[block];
      int meets = 0;
      for (size_t i = 0; i < kBlock; ++i)
        meets |= (c.x2[i] > x1) & (c.x1[i] < x2) & (c.y2[i] > y1) & (c.y1[i] < y2);
      if (meets == 0) continue;
      const size_t end = std::min((block + 1) * kBlock, boxes_.size());
      for (size_t i = block * kBlock; i < end; ++i) {
        if (overlap(box, boxes_[i]) > limit) return true;
      }
    }
    return false;
  }

 private:
  static constexpr size_t kBlock = 16;
  struct Columns {
    std::array<float, kBlock> y1, x1, y2, x2;
  };
  static float below(double x) {
    return std::nextafter(static_cast<float>(x), -std::numeric_limits<float>::infinity());
  }
  std::vector<SelectedBox> boxes_;
  std::vector<Columns> columns_;  // of kBlock boxes each
};

// Chooses boxes from the best score on, at most `limit`, none of which overlaps a better one by
// more than `overlap_limit`. `candidates` are used up.
// `boxes` are four numbers each, as make_box takes them.
std::vector<int64_t> choose_boxes(std::vector<Candidate>& candidates, const float* boxes,
                                  bool center, int64_t limit, double overlap_limit) {
  std::vector<int64_t> chosen;
  KeptBoxes kept;
  std::make_heap(candidates.begin(), candidates.end());
  while (!candidates.empty() && static_cast<int64_t>(kept.size()) < limit) {
    std::pop_heap(candidates.begin(), candidates.end());
    const int32_t number = candidates.back().box;
    candidates.pop_back();
    const SelectedBox box = make_box(boxes + int64_t{number} * 4, center);
    if (overlap_limit < 0 ? kept.size() > 0 : kept.any_overlaps(box, overlap_limit)) continue;
    kept.add(box);
    chosen.push_back(number);
  }
  return chosen;
}

// Returns the four products of a bilinear sample of RoiAlign; samples more than one pixel outside
// count as zero.
template <typename T>
std::array<double, 4> roi_sample(const T* plane, int64_t height, int64_t width, double y,
                                 double x) {
  if (y < -1 || y > static_cast<double>(height) || x < -1 || x > static_cast<double>(width))
    return {};
  y = std::clamp(y, 0.0, static_cast<double>(height - 1));
  x = std::clamp(x, 0.0, static_cast<double>(width - 1));
  const auto top = static_cast<int64_t>(y), left = static_cast<int64_t>(x);
  const int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const double dy = y - static_cast<double>(top), dx = x - static_cast<double>(left);
  const auto at = [&](int64_t i, int64_t j) { return static_cast<double>(plane[i * width + j]); };
  return {(1 - dy) * (1 - dx) * at(top, left), (1 - dy) * dx * at(top, right),
          dy * (1 - dx) * at(bottom, left), dy * dx * at(bottom, right)};
}

// Returns the pixels [begin, end) of bin `number` of `count` along one axis of a region from
// `first` to `last`.
std::pair<int64_t, int64_t> roi_bin(double first, double last, int64_t number, int64_t count,
                                    int64_t extent) {
  const double start = std::round(first);
  const double bin = std::max(std::round(last) - start + 1, 1.0) / static_cast<double>(count);
  const auto inside = [&](double at) -> int64_t {
    if (at >= static_cast<double>(extent)) return extent;
    return at > 0 ? static_cast<int64_t>(at) : 0;  // also of NaN
  };
  const auto place = static_cast<double>(number);
  return {inside(start + std::floor(place * bin)), inside(start + std::ceil((place + 1) * bin))};
}

}  // namespace

Result<void> eval_grid_sample(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& grid = call.input(1);
  if (x.rank() < 3 || grid.rank() != x.rank() || grid.dims.back() != x.rank() - 2 ||
      grid.dims[0] != x.dims[0])
    return call.bad_shape("input {} and grid {} do not fit", dims_text(x.dims),
                          dims_text(grid.dims));
  const GridOptions options{call.node.get(attributes::GridSample::mode),
                            call.node.get(attributes::GridSample::padding_mode),
                            call.node.get(attributes::GridSample::align_corners) != 0};
  const auto spatial = x.dims.subspan(2);
  const size_t rank = spatial.size();
  if (product(spatial) == 0) return call.bad_shape("the input {} is empty", dims_text(x.dims));
  std::vector<int64_t> dims = {x.dims[0], x.dims[1]};
  dims.insert(dims.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  const int64_t points = product(std::span<const int64_t>(dims).subspan(2));
  std::vector<double> coordinates(static_cast<size_t>(grid.count));
  load_doubles(grid.dtype, grid.data, 0, grid.count, coordinates.data());
  return visit_wide(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    std::vector<GridTaps> taps(rank);
    for (int64_t n = 0; n < x.dims[0]; ++n) {
      for (int64_t point = 0; point < points; ++point) {
        const double* at = coordinates.data() + (n * points + point) * static_cast<int64_t>(rank);
        for (size_t axis = 0; axis < rank; ++axis)
          taps[axis] = grid_taps(options, at[rank - 1 - axis], spatial[axis]);
        for (int64_t c = 0; c < x.dims[1]; ++c) {
          const int64_t plane = n * x.dims[1] + c;
          y.as<T>()[plane * points + point] = element_of<T>(sample_axis(
              x.as<T>() + plane * product(spatial), spatial, std::span<const GridTaps>(taps), 0));
        }
      }
    }
    return {};
  });
}

Result<void> eval_affine_grid(EvalCall& call) {
  const Input& theta = call.input(0);
  const auto size = call.ints(1);
  const size_t rank = size.size() < 2 ? 0 : size.size() - 2;
  const auto r = static_cast<int64_t>(rank);
  if (rank < 2 || rank > 3 || theta.count != size[0] * r * (r + 1))
    return call.bad_shape("theta {} does not fit the size {}", dims_text(theta.dims),
                          dims_text(size));
  const bool align = call.node.get(attributes::AffineGrid::align_corners) != 0;
  std::vector<int64_t> dims = {size[0]};
  dims.insert(dims.end(), size.begin() + 2, size.end());
  const int64_t points = product(std::span<const int64_t>(dims).subspan(1));
  dims.push_back(r);
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, dims));
  return visit_float(call, theta.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t number = 0; number < size[0] * points; ++number) {
      std::vector<double> at(rank + 1, 1.0);  // x, y, (z,) 1
      int64_t remainder = number % points;
      for (size_t axis = rank; axis-- > 0;) {
        const auto extent = static_cast<double>(size[axis + 2]);
        const auto i = static_cast<double>(remainder % size[axis + 2]);
        remainder /= size[axis + 2];
        at[rank - 1 - axis] =
            align ? (extent > 1 ? 2 * i / (extent - 1) - 1 : -1) : (2 * i + 1) / extent - 1;
      }
      for (int64_t k = 0; k < r; ++k) {
        const T* row = theta.as<T>() + (number / points * r + k) * (r + 1);
        double sum = 0;
        for (int64_t j = 0; j <= r; ++j)
          sum += static_cast<double>(row[j]) * at[static_cast<size_t>(j)];
        y.as<T>()[number * r + k] = static_cast<T>(sum);
      }
    }
    return {};
  });
}

// Computes the pooling of Fast R-CNN (Girshick, 2015): regions in whole pixels with both ends
// inside, divided into bins that may overlap.
Result<void> eval_max_roi_pool(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& rois = call.input(1);
  const auto pooled = call.node.get(attributes::MaxRoiPool::pooled_shape);
  const double scale = call.node.get(attributes::MaxRoiPool::spatial_scale);
  if (x.rank() != 4 || rois.rank() != 2 || rois.dims[1] != 5 || rois.dtype != x.dtype ||
      pooled.size() != 2)
    return call.bad_shape("input {}, regions {} and {} pooled axes do not fit", dims_text(x.dims),
                          dims_text(rois.dims), pooled.size());
  const int64_t channels = x.dims[1], height = x.dims[2], width = x.dims[3];
  SLUICE_ASSIGN(const Output y,
                call.output_like(0, 0, {rois.dims[0], channels, pooled[0], pooled[1]}));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t at = 0; at < y.count; ++at) {
      const int64_t column = at % pooled[1], row = at / pooled[1] % pooled[0],
                    plane = at / (pooled[0] * pooled[1]);
      const T* roi = rois.as<T>() + plane / channels * 5;
      const auto batch = static_cast<double>(roi[0]);
      if (!(batch >= 0 && batch < static_cast<double>(x.dims[0])))
        return call.bad_value("batch index {} lies outside {}", batch, x.dims[0]);
      const auto scaled = [&](T end) { return static_cast<double>(end) * scale; };
      const auto [top, bottom] = roi_bin(scaled(roi[2]), scaled(roi[4]), row, pooled[0], height);
      const auto [left, right] = roi_bin(scaled(roi[1]), scaled(roi[3]), column, pooled[1], width);
      const T* from =
          x.as<T>() + (static_cast<int64_t>(batch) * channels + plane % channels) * height * width;
      T best = top < bottom && left < right ? std::numeric_limits<T>::lowest() : T{0};
      for (int64_t i = top; i < bottom; ++i) {
        for (int64_t j = left; j < right; ++j) best = std::max(best, from[i * width + j]);
      }
      y.as<T>()[at] = best;
    }
    return {};
  });
}

Result<void> eval_roi_align(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& rois = call.input(1);
  const auto batches = call.ints(2);
  if (x.rank() != 4 || rois.rank() != 2 || rois.dims[1] != 4 || rois.dtype != x.dtype ||
      static_cast<int64_t>(batches.size()) != rois.dims[0])
    return call.bad_shape("input {} and regions {} do not fit", dims_text(x.dims),
                          dims_text(rois.dims));
  const int64_t out_h = call.node.get(attributes::RoiAlign::output_height),
                out_w = call.node.get(attributes::RoiAlign::output_width);
  const int64_t ratio = call.node.get(attributes::RoiAlign::sampling_ratio);
  const double scale = call.node.get(attributes::RoiAlign::spatial_scale);
  const bool half =
      call.node.get(attributes::RoiAlign::coordinate_transformation_mode) == "half_pixel";
  const bool average = call.node.get(attributes::RoiAlign::mode) == "avg";
  const int64_t channels = x.dims[1], height = x.dims[2], width = x.dims[3];
  if (height == 0 || width == 0) return call.bad_shape("the input {} is empty", dims_text(x.dims));
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, {rois.dims[0], channels, out_h, out_w}));
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    for (int64_t at = 0; at < y.count; ++at) {
      const int64_t pw = at % out_w, ph = at / out_w % out_h, c = at / (out_w * out_h) % channels,
                    roi = at / (out_w * out_h * channels);
      const int64_t batch = batches[static_cast<size_t>(roi)];
      if (batch < 0 || batch >= x.dims[0])
        return call.bad_value("batch index {} lies outside {}", batch, x.dims[0]);
      const T* box = rois.as<T>() + roi * 4;
      const double offset = half ? 0.5 : 0;
      const double left = static_cast<double>(box[0]) * scale - offset,
                   top = static_cast<double>(box[1]) * scale - offset;
      double roi_w = static_cast<double>(box[2]) * scale - offset - left,
             roi_h = static_cast<double>(box[3]) * scale - offset - top;
      if (!half) {
        roi_w = std::max(roi_w, 1.0);
        roi_h = std::max(roi_h, 1.0);
      }
      const double bin_h = roi_h / static_cast<double>(out_h),
                   bin_w = roi_w / static_cast<double>(out_w);
      const int64_t rows =
          ratio > 0 ? ratio
                    : std::clamp<int64_t>(static_cast<int64_t>(std::ceil(bin_h)), 0, height + 2);
      const int64_t columns =
          ratio > 0 ? ratio
                    : std::clamp<int64_t>(static_cast<int64_t>(std::ceil(bin_w)), 0, width + 2);
      const T* plane = x.as<T>() + (batch * channels + c) * height * width;
      double sum = 0, best = -std::numeric_limits<double>::infinity();
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          const double sy = top + (static_cast<double>(ph) +
                                   (static_cast<double>(i) + 0.5) / static_cast<double>(rows)) *
                                      bin_h;
          const double sx = left + (static_cast<double>(pw) +
                                    (static_cast<double>(j) + 0.5) / static_cast<double>(columns)) *
                                       bin_w;
          for (const double part : roi_sample(plane, height, width, sy, sx)) {
            sum += part;
            best = std::max(best, part);
          }
        }
      }
      const auto samples = static_cast<double>(std::max<int64_t>(rows * columns, 1));
      y.as<T>()[at] = static_cast<T>(average ? sum / samples : (rows * columns == 0 ? 0 : best));
    }
    return {};
  });
}

Result<void> eval_deform_conv(EvalCall& call) {
  const Input& x = call.input(0);
  const Input& w = call.input(1);
  const Input& offset = call.input(2);
  const Input& bias = call.input(3);
  const Input& mask = call.input(4);
  SLUICE_ASSIGN(const ConvShape shape, make_conv_shape(call, x.dims, w.dims));
  const int64_t parts = call.node.get(attributes::DeformConv::offset_group);
  const int64_t taps = shape.window.taps(), positions = shape.window.out_size();
  if (x.rank() != 4) return call.unsupported(fmt::format("an input of rank {}", x.rank()));
  const bool fits = parts > 0 && shape.channels % parts == 0 &&
                    offset.count == shape.batch * parts * 2 * taps * positions &&
                    (!bias.present() || bias.count == shape.filters) &&
                    (!mask.present() || mask.count == shape.batch * parts * taps * positions);
  if (!fits) return call.bad_shape("offsets, bias or mask do not fit");
  SLUICE_ASSIGN(const Output y, call.output_like(0, 0, shape.y));
  const Window& window = shape.window;
  return visit_float(call, x.dtype, [&]<typename T>(Tag<T>) -> Result<void> {
    const int64_t depth = shape.channels / shape.groups;
    for (int64_t n = 0; n < shape.batch; ++n) {
      // Gathers columns[channel][tap][position].
      std::vector<double> columns(static_cast<size_t>(shape.channels * taps * positions));
      for (int64_t c = 0; c < shape.channels; ++c) {
        const int64_t part = n * parts + c / (shape.channels / parts);
        for (int64_t at = 0; at < taps * positions; ++at) {
          const int64_t tap = at / positions, p = at % positions;
          const T* move = offset.as<T>() + (part * 2 * taps + 2 * tap) * positions + p;
          const double py =
              static_cast<double>(p / window.out[1] * window.strides[0] - window.begin[0] +
                                  tap / window.kernel[1] * window.dilations[0]) +
              static_cast<double>(move[0]);
          const double px =
              static_cast<double>(p % window.out[1] * window.strides[1] - window.begin[1] +
                                  tap % window.kernel[1] * window.dilations[1]) +
              static_cast<double>(move[positions]);
          const double weight =
              mask.present()
                  ? static_cast<double>(mask.as<T>()[(part * taps + tap) * positions + p])
                  : 1;
          columns[static_cast<size_t>(c * taps * positions + at)] =
              weight * bilinear(x.as<T>() + (n * shape.channels + c) * window.in_size(),
                                window.in[0], window.in[1], py, px);
        }
      }
      for (int64_t f = 0; f < shape.filters; ++f) {
        const int64_t first = f / (shape.filters / shape.groups) * depth;
        for (int64_t p = 0; p < positions; ++p) {
          double sum = bias.present() ? static_cast<double>(bias.as<T>()[f]) : 0;
          for (int64_t k = 0; k < depth * taps; ++k)
            sum += static_cast<double>(w.as<T>()[f * depth * taps + k]) *
                   columns[static_cast<size_t>((first * taps + k) * positions + p)];
          y.as<T>()[(n * shape.filters + f) * positions + p] = static_cast<T>(sum);
        }
      }
    }
    return {};
  });
}

Result<void> eval_non_max_suppression(EvalCall& call) {
  const Input& boxes = call.input(0);
  const Input& scores = call.input(1);
  const bool fits = boxes.rank() == 3 && scores.rank() == 3 && boxes.dims[2] == 4 &&
                    boxes.dims[0] == scores.dims[0] && boxes.dims[1] == scores.dims[2];
  if (!fits || boxes.dtype != DType::kF32 || scores.dtype != DType::kF32)
    return call.bad_shape("boxes {} and scores {} do not fit", dims_text(boxes.dims),
                          dims_text(scores.dims));
  const int64_t limit = call.integer(2, 0);
  const double overlap_limit = call.number(3, 0);
  const bool center = call.node.get(attributes::NonMaxSuppression::center_point_box) != 0;
  const int64_t count = boxes.dims[1], classes = scores.dims[1];
  if (count > std::numeric_limits<int32_t>::max())
    return call.bad_shape("there are {} boxes, at most 2147483647 are supported", count);
  const double lowest = call.has(4) ? call.number(4, 0) : -std::numeric_limits<double>::infinity();
  std::vector<int64_t> chosen;
  std::vector<Candidate> candidates;
  candidates.reserve(static_cast<size_t>(count));
  for (int64_t line = 0; line < scores.dims[0] * classes; ++line) {
    const int64_t batch = line / classes;
    const float* score = scores.as<float>() + line * count;
    candidates.clear();
    for (int64_t i = 0; i < count; ++i) {
      if (!call.has(4) || static_cast<double>(score[i]) > lowest)
        candidates.push_back({score[i], static_cast<int32_t>(i)});
    }
    for (const int64_t i : choose_boxes(candidates, boxes.as<float>() + batch * count * 4, center,
                                        limit, overlap_limit))
      chosen.insert(chosen.end(), {batch, line % classes, i});
  }
  SLUICE_ASSIGN(const Output y,
                call.output(0, DType::kI64, {static_cast<int64_t>(chosen.size() / 3), 3}));
  std::ranges::copy(chosen, y.as<int64_t>());
  return {};
}

}  // namespace sluice::eval
