// Ops that join, split, repeat or pad tensors along axes.
#include <algorithm>
#include <numeric>

#include "common/ir/shape_mismatch.h"
#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

// Returns the rank of the first input whose rank is known, or -1.
int64_t known_rank(const InferCall& call) {
  for (size_t i = 0; i < call.input_count(); ++i) {
    if (const Shape shape = call.shape(i)) return rank_of(*shape);
  }
  return -1;
}

Result<void> infer_concat(InferCall& call) {
  const int64_t rank = known_rank(call);
  DType dtype = call.dtype(0);
  for (size_t i = 1; i < call.input_count(); ++i) {
    SLUICE_TRY(call.expect_same_dtype(i, 0));
    if (dtype == DType::kUndefined) dtype = call.dtype(i);
  }
  if (rank < 0) return call.give(0, dtype, std::nullopt);
  SLUICE_ASSIGN(const int64_t axis, call.axis_attribute(attributes::Concat::axis, rank));
  Dims dims(static_cast<size_t>(rank), Dim::unknown());
  Dim& joined = dims[static_cast<size_t>(axis)];
  joined = Dim::fixed(0);
  for (size_t i = 0; i < call.input_count(); ++i) {
    SLUICE_TRY(call.expect_rank(i, rank));
    const Shape shape = call.shape(i);
    joined = call.math.add(joined, shape ? (*shape)[static_cast<size_t>(axis)] : Dim::unknown());
    for (size_t d = 0; shape && d < dims.size(); ++d) {
      if (d == static_cast<size_t>(axis)) continue;
      SLUICE_ASSIGN(dims[d],
                    call.unify(dims[d], (*shape)[d], fmt::format("dims {} of the inputs", d)));
    }
  }
  return call.give(0, dtype, std::move(dims));
}

// Returns the sizes of the pieces, where the input has known values.
Result<Dims> given_pieces(InferCall& call, const Dim& whole, size_t count) {
  SLUICE_TRY(call.expect_dtype(1, kI64Set));
  const auto given = call.value_dims(1);
  if (!given) return Dims(count, Dim::unknown());
  if (given->size() != count)
    return call.bad_shape("{} names {} pieces, the node has {} outputs", call.input_name(1),
                          given->size(), count);
  Dim sum = Dim::fixed(0);
  for (const Dim& piece : *given) {
    if (piece.is_fixed() && piece.value < 0)
      return call.bad_shape("a piece has the size {}", piece.value);
    sum = call.math.add(sum, piece);
  }
  SLUICE_TRY(call.unify(sum, whole, "the sum of the pieces and the dim to split"));
  return *given;
}

// Returns equal pieces; the last one is smaller when necessary.
Result<Dims> equal_pieces(InferCall& call, const Dim& whole, size_t count) {
  const auto pieces = static_cast<int64_t>(count);
  const int64_t wanted = call.node.get(attributes::Split::num_outputs, pieces);
  if (wanted != pieces)
    return call.bad_node("attribute 'num_outputs' is {}, the node has {} outputs", wanted, pieces);
  if (!call.node.has(attributes::Split::num_outputs))
    SLUICE_TRY(call.expect_multiple(whole, pieces, "elements to split in equal pieces"));
  const Dim piece = call.math.ceil_divide(whole, pieces);
  Dims sizes(count, piece);
  sizes.back() = call.math.subtract(whole, call.math.multiply(piece, pieces - 1));
  if (sizes.back().is_fixed() && sizes.back().value < 0)
    return call.bad_shape("{}", split_mismatch(whole.value, pieces));
  SLUICE_TRY(call.expect_max(call.math.multiply(piece, pieces - 1), whole,
                             "elements of all pieces but the last, and of all,"));
  return sizes;
}

Result<void> infer_split(InferCall& call) {
  const size_t count = call.node.output_count();
  const Shape input = call.shape(0);
  if (!input) {
    for (size_t i = 0; i < count; ++i) SLUICE_TRY(call.give(i, call.dtype(0), std::nullopt));
    return {};
  }
  SLUICE_ASSIGN(const int64_t axis, call.axis_attribute(attributes::Split::axis, rank_of(*input)));
  const Dim whole = (*input)[static_cast<size_t>(axis)];
  SLUICE_ASSIGN(const Dims pieces, call.has_input(1) ? given_pieces(call, whole, count)
                                                     : equal_pieces(call, whole, count));
  for (size_t i = 0; i < count; ++i) {
    Dims dims = *input;
    dims[static_cast<size_t>(axis)] = pieces[i];
    SLUICE_TRY(call.give(i, call.dtype(0), std::move(dims)));
  }
  return {};
}

Result<void> infer_tile(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kI64Set));
  SLUICE_TRY(call.expect_rank(1, 1));
  const Shape input = call.shape(0);
  if (!input) return call.give(0, call.dtype(0), unknown_dims(call.dim(1, 0)));
  const auto repeats = call.value_dims(1);
  if (!repeats) return call.give(0, call.dtype(0), unknown_dims(Dim::fixed(rank_of(*input))));
  if (repeats->size() != input->size())
    return call.bad_shape("{} has {} elements, expected {}", call.input_name(1), repeats->size(),
                          input->size());
  Dims dims;
  for (size_t i = 0; i < input->size(); ++i) {
    if ((*repeats)[i].is_fixed() && (*repeats)[i].value < 0)
      return call.bad_shape("a repeat count is {}", (*repeats)[i].value);
    dims.push_back(call.math.multiply((*input)[i], (*repeats)[i]));
  }
  return call.give(0, call.dtype(0), std::move(dims));
}

// Returns the axes that a trailing optional input names, all axes when it is absent, or nothing
// when it is not known.
Result<std::optional<std::vector<int64_t>>> named_axes(InferCall& call, size_t index,
                                                       int64_t rank) {
  if (!call.has_input(index)) {
    std::vector<int64_t> all(static_cast<size_t>(rank));
    std::iota(all.begin(), all.end(), 0);
    return std::optional(all);
  }
  const auto given = call.integers(index);
  if (!given) return std::optional<std::vector<int64_t>>();
  SLUICE_ASSIGN(std::vector<int64_t> axes, call.axes(*given, rank));
  return std::optional(std::move(axes));
}

// Infers Pad. Pads may be negative, which removes elements.
Result<void> infer_pad(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(3, kIndexSet));
  const std::string mode = call.node.get(attributes::Pad::mode);
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    return call.bad_node("attribute 'mode' is '{}'", mode);
  SLUICE_TRY(call.expect_dtype(1, kI64Set));
  SLUICE_TRY(call.expect_rank(1, 1));
  SLUICE_TRY(call.expect_same_dtype(2, 0));
  SLUICE_TRY(call.expect_one_element(2));
  const Shape input = call.shape(0);
  if (!input) return call.give(0, call.dtype(0), std::nullopt);
  SLUICE_ASSIGN(const auto axes, named_axes(call, 3, rank_of(*input)));
  const auto pads = call.value_dims(1);
  if (!axes || !pads) return call.give(0, call.dtype(0), unknown_dims(Dim::fixed(rank_of(*input))));
  if (pads->size() != 2 * axes->size())
    return call.bad_shape("{} has {} elements, expected {}", call.input_name(1), pads->size(),
                          2 * axes->size());
  Dims dims = *input;
  for (size_t i = 0; i < axes->size(); ++i) {
    Dim& dim = dims[static_cast<size_t>((*axes)[i])];
    dim = call.math.add(dim, call.math.add((*pads)[i], (*pads)[i + axes->size()]));
  }
  return call.give(0, call.dtype(0), std::move(dims));
}

Result<void> infer_center_crop_pad(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kIndexSet));
  const Shape input = call.shape(0);
  if (!input) return call.give(0, call.dtype(0), std::nullopt);
  const bool some = call.node.has(attributes::CenterCropPad::axes);
  std::vector<int64_t> axes = call.node.get(attributes::CenterCropPad::axes);
  if (!some) {
    axes.resize(input->size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  SLUICE_ASSIGN(axes, call.axes(axes, rank_of(*input)));
  const auto sizes = call.value_dims(1);
  if (sizes && sizes->size() != axes.size())
    return call.bad_shape("{} has {} elements, expected {}", call.input_name(1), sizes->size(),
                          axes.size());
  Dims dims = *input;
  for (size_t i = 0; i < axes.size(); ++i)
    dims[static_cast<size_t>(axes[i])] = sizes ? (*sizes)[i] : Dim::unknown();
  return call.give(0, call.dtype(0), std::move(dims));
}

constexpr OpRow kSplitRows[] = {
    {Op::kCenterCropPad, 2, 2, 1, 1, 0, attribute_rows::CenterCropPad, infer_center_crop_pad},
    {Op::kConcat, 1, -1, 1, 1, 0, attribute_rows::Concat, infer_concat},
    {Op::kPad, 2, 4, 1, 1, 0, attribute_rows::Pad, infer_pad},
    {Op::kSplit, 1, 2, 1, -1, 0, attribute_rows::Split, infer_split},
    {Op::kTile, 2, 2, 1, 1, 0, {}, infer_tile},
};

}  // namespace

std::span<const OpRow> split_rows() { return kSplitRows; }

}  // namespace sluice
