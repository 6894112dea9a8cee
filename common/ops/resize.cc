// Resize and related ops.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

constexpr int64_t kMaxDenominator = 64;

// Computes floor(in * scale). A symbolic dim needs a scale that is a fraction with a small
// denominator.
Dim scaled_dim(InferCall& call, size_t axis, const Dim& in, double scale) {
  if (in.is_fixed()) {
    const double size = std::floor(static_cast<float>(in.value) * static_cast<float>(scale));
    return size < 1e15 ? Dim::fixed(static_cast<int64_t>(size)) : Dim::fixed(INT64_MAX);
  }
  for (int64_t denominator = 1; denominator <= kMaxDenominator && scale < 1e9; ++denominator) {
    const double numerator = scale * static_cast<double>(denominator);
    if (std::trunc(numerator) != numerator) continue;
    return call.math.floor_divide(call.math.multiply(in, static_cast<int64_t>(numerator)),
                                  denominator);
  }
  return in.is_expression() ? call.result_dim(0, axis) : Dim::unknown();
}

Result<Dims> scaled_dims(InferCall& call, const Dims& input, const std::vector<int64_t>& axes,
                         const std::optional<std::vector<double>>& scales, size_t index) {
  Dims dims = input;
  if (scales && scales->size() != axes.size())
    return call.bad_shape("{} has {} elements, expected {}", call.input_name(index), scales->size(),
                          axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    if (scales && !((*scales)[i] > 0))
      return call.bad_shape("scale {} is not positive", (*scales)[i]);
    dims[axis] = scales ? scaled_dim(call, axis, input[axis], (*scales)[i]) : Dim::unknown();
  }
  return dims;
}

// Returns the dims for `sizes`. A policy other than "stretch" treats sizes as bounds: all axes get
// one scale, the smaller or larger one.
Result<Dims> sized_dims(InferCall& call, const Dims& input, const std::vector<int64_t>& axes,
                        const Dims& sizes) {
  Dims dims = input;
  if (sizes.size() != axes.size())
    return call.bad_shape("{} has {} elements, expected {}", call.input_name(3), sizes.size(),
                          axes.size());
  const std::string policy = call.node.get(attributes::Resize::keep_aspect_ratio_policy);
  double scale = 0;
  bool fixed = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim& in = input[static_cast<size_t>(axes[i])];
    if (sizes[i].is_fixed() && sizes[i].value > 0)
      SLUICE_TRY(call.expect_min(
          in, 1, fmt::format("axis {}, of size {} then,", axes[i], sizes[i].value)));
    dims[static_cast<size_t>(axes[i])] = sizes[i];
    fixed = fixed && in.is_fixed() && sizes[i].is_fixed() && in.value > 0;
    if (!fixed) continue;
    const double own = static_cast<double>(sizes[i].value) / static_cast<double>(in.value);
    scale = i == 0 ? own : policy == "not_larger" ? std::min(scale, own) : std::max(scale, own);
  }
  if (policy == "stretch") return dims;
  for (const int64_t axis : axes) {
    const Dim& in = input[static_cast<size_t>(axis)];
    const double size = fixed ? std::floor(scale * static_cast<double>(in.value) + 0.5) : 0;
    dims[static_cast<size_t>(axis)] =
        fixed && size < 1e15 ? Dim::fixed(static_cast<int64_t>(size)) : Dim::unknown();
  }
  return dims;
}

Result<void> infer_resize(InferCall& call) {
  for (const size_t i : {1, 2}) SLUICE_TRY(call.expect_dtype(i, kFloatSet));
  SLUICE_TRY(call.expect_dtype(3, kIndexSet));
  const Shape input = call.shape(0);
  const bool sized = call.has_input(3);
  const bool scaled = call.has_input(2) && call.dim(2, 0) != Dim::fixed(0);
  if (sized == scaled) return call.bad_node("it needs scales or sizes, and not both");
  if (!input) return call.give(0, call.dtype(0), std::nullopt);
  std::vector<int64_t> axes = call.node.get(attributes::Resize::axes);
  if (!call.node.has(attributes::Resize::axes)) {
    axes.resize(input->size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  SLUICE_ASSIGN(axes, call.axes(axes, rank_of(*input)));
  SLUICE_TRY(call.expect_dtype(3, kI64Set));
  SLUICE_TRY(call.expect_dtype(2, kFloatSet));
  if (scaled) {
    auto scales = call.reals(2);
    if (const auto whole = call.integers(2); !scales && whole)
      scales.emplace(whole->begin(), whole->end());
    SLUICE_ASSIGN(Dims dims, scaled_dims(call, *input, axes, scales, 2));
    return call.give(0, call.dtype(0), std::move(dims));
  }
  const auto sizes = call.value_dims(3);
  SLUICE_ASSIGN(Dims dims,
                sized_dims(call, *input, axes, sizes ? *sizes : Dims(axes.size(), Dim::unknown())));
  return call.give(0, call.dtype(0), std::move(dims));
}

Result<void> infer_upsample(InferCall& call) {
  const Shape input = call.shape(0);
  if (!input) return call.give(0, call.dtype(0), std::nullopt);
  std::vector<int64_t> axes(input->size());
  std::iota(axes.begin(), axes.end(), 0);
  SLUICE_ASSIGN(Dims dims, scaled_dims(call, *input, axes, call.reals(1), 1));
  return call.give(0, call.dtype(0), std::move(dims));
}

// Infers the samples of an image [N, C, H, W] at [N, OH, OW, 2] (one more dim each for volumes).
Result<void> infer_grid_sample(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kRealSet));
  SLUICE_TRY(call.expect_rank(0, 3, INT64_MAX));
  const Shape input = call.shape(0);
  const Shape grid = call.shape(1);
  if (!input || !grid) return call.give(0, call.dtype(0), std::nullopt);
  SLUICE_TRY(call.expect_rank(1, rank_of(*input)));
  SLUICE_TRY(call.unify(grid->back(), Dim::fixed(rank_of(*input) - 2),
                        "coordinates of the grid and spatial dims"));
  SLUICE_ASSIGN(const Dim batch,
                call.unify((*input)[0], (*grid)[0], "batch dims of input and grid"));
  for (size_t axis = 2; axis < input->size(); ++axis)
    SLUICE_TRY(call.expect_min((*input)[axis], 1, fmt::format("axis {} of the input", axis)));
  Dims dims{batch, (*input)[1]};
  dims.insert(dims.end(), grid->begin() + 1, grid->end() - 1);
  return call.give(0, call.dtype(0), std::move(dims));
}

// Infers the grid: [N, 2, 3] and size [4] produce [N, H, W, 2]; [N, 3, 4] and size [5] produce [N,
// D, H, W, 3].
Result<void> infer_affine_grid(InferCall& call) {
  SLUICE_TRY(call.expect_rank(0, 3));
  SLUICE_TRY(call.expect_dtype(1, kI64Set));
  SLUICE_TRY(call.expect_rank(1, 1));
  const auto size = call.value_dims(1);
  const Dim count = call.dim(1, 0);
  if (!count.is_fixed()) return call.give(0, call.dtype(0), std::nullopt);
  if (count.value != 4 && count.value != 5)
    return call.bad_shape("{} has {} elements, expected 4 or 5", call.input_name(1), count.value);
  Dims dims{size ? (*size)[0] : call.dim(0, 0)};
  for (int64_t i = 2; i < count.value; ++i)
    dims.push_back(size ? (*size)[static_cast<size_t>(i)] : Dim::unknown());
  dims.push_back(Dim::fixed(count.value - 2));
  return call.give(0, call.dtype(0), std::move(dims));
}

constexpr OpRow kResizeRows[] = {
    {Op::kAffineGrid, 2, 2, 1, 1, 0, attribute_rows::AffineGrid, infer_affine_grid},
    {Op::kGridSample, 2, 2, 1, 1, 0, attribute_rows::GridSample, infer_grid_sample},
    {Op::kResize, 1, 4, 1, 1, 0, attribute_rows::Resize, infer_resize},
    {Op::kUpsample, 2, 2, 1, 1, 0, attribute_rows::Upsample, infer_upsample},
};

}  // namespace

std::span<const OpRow> resize_rows() { return kResizeRows; }

}  // namespace sluice
