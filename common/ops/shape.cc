// Ops that return the same elements under another shape, and ops that read a shape.
#include <algorithm>
#include <numeric>

#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

// One target dim of a Reshape.
struct Target {
  Dim dim;
  bool copied = false;  // 0: the input's dim at the same position
  bool solved = false;  // -1: the quotient of the element counts
};

Result<std::vector<Target>> read_targets(InferCall& call, const Dims& wanted, const Shape& input) {
  const bool allow_zero = call.node.get(attributes::Reshape::allowzero) != 0;
  std::vector<Target> targets;
  for (size_t i = 0; i < wanted.size(); ++i) {
    Target target{wanted[i]};
    if (wanted[i] == Dim::fixed(0) && !allow_zero) {
      if (input && i >= input->size())
        return call.bad_shape("target dim {} is 0, but {} has rank {}", i, call.input_name(0),
                              input->size());
      target = {input ? (*input)[i] : Dim::unknown(), true};
    } else if (wanted[i] == Dim::fixed(-1)) {
      if (std::any_of(targets.begin(), targets.end(), [](const Target& t) { return t.solved; })) {
        return call.bad_shape("the target shape has more than one -1");
      }
      target = {Dim::unknown(), false, true};
    } else if (wanted[i].is_fixed() && wanted[i].value < 0) {
      return call.bad_shape("target dim {} is {}", i, wanted[i].value);
    }
    targets.push_back(target);
  }
  return targets;
}

// Removes from both lists the dims that are in both.
void cancel(InferCall& call, Dims& numerator, Dims& denominator) {
  std::erase_if(denominator, [&](const Dim& dim) {
    const auto found = std::find_if(numerator.begin(), numerator.end(), [&](const Dim& other) {
      return call.math.is_equal(dim, other);
    });
    if (found == numerator.end() || dim == Dim::fixed(0)) return false;
    numerator.erase(found);
    return true;
  });
}

// Beside a 0 the dim for -1 cannot be solved, unless that 0 is the input's dim at the same place: a
// run takes it as one to copy.
void expect_solvable(InferCall& call, const std::vector<Target>& targets, const Dims& input) {
  const bool allow_zero = call.node.get(attributes::Reshape::allowzero) != 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].copied || targets[i].solved) continue;
    const bool is_copy =
        !allow_zero && i < input.size() && call.math.is_equal(targets[i].dim, input[i]);
    if (!is_copy) call.math.assume_positive(targets[i].dim);
  }
}

// Computes the dim for -1 and checks that the element counts agree. Copied dims are on both sides
// and cancel, so they may be unknown.
Result<void> solve_targets(InferCall& call, std::vector<Target>& targets, const Dims& input) {
  Dims numerator;
  Dims denominator;
  for (size_t i = 0; i < input.size(); ++i) {
    if (i >= targets.size() || !targets[i].copied) numerator.push_back(input[i]);
  }
  for (const Target& target : targets) {
    if (!target.copied && !target.solved) denominator.push_back(target.dim);
  }
  const auto solved = std::find_if(targets.begin(), targets.end(),
                                   [](const Target& target) { return target.solved; });
  if (solved != targets.end()) expect_solvable(call, targets, input);
  cancel(call, numerator, denominator);
  const Dim elements = call.math.product(numerator);
  const Dim given = call.math.product(denominator);
  if (solved != targets.end()) {
    if (given == Dim::fixed(0))
      return call.bad_shape("-1 cannot be solved beside a 0 in the target shape");
    solved->dim = call.math.floor_divide(elements, given);
  }
  const bool empty = std::any_of(targets.begin(), targets.end(), [](const Target& t) {
    return t.copied && t.dim == Dim::fixed(0);
  });
  if (empty && solved == targets.end()) return {};  // with a copied 0 both counts are 0
  if (!elements.is_fixed() || !given.is_fixed()) {
    const Dim whole = solved == targets.end() ? given : call.math.multiply(solved->dim, given);
    call.require_equal(elements, whole, "elements of the input and of the target shape");
    return {};
  }
  const bool fits = solved == targets.end() ? elements == given : elements.value % given.value == 0;
  if (fits) return {};
  return call.bad_shape("{} elements do not fit a target shape of {}{}", elements.value,
                        given.value, solved == targets.end() ? "" : " times -1");
}

Result<void> infer_reshape(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kI64Set));
  SLUICE_TRY(call.expect_rank(1, 1));
  auto wanted = call.value_dims(1);
  // Without elements the target is a scalar.
  if (!wanted && call.dim(1, 0) == Dim::fixed(0)) wanted.emplace();
  const Shape input = call.shape(0);
  if (!wanted) return call.give(0, call.dtype(0), unknown_dims(call.dim(1, 0)));
  SLUICE_ASSIGN(std::vector<Target> targets, read_targets(call, *wanted, input));
  if (input) SLUICE_TRY(solve_targets(call, targets, *input));
  Dims dims;
  for (const Target& target : targets) dims.push_back(target.dim);
  return call.give(0, call.dtype(0), std::move(dims));
}

Result<void> infer_flatten(InferCall& call) {
  const Shape input = call.shape(0);
  if (!input) return call.give(0, call.dtype(0), Dims(2, Dim::unknown()));
  SLUICE_ASSIGN(const int64_t axis,
                call.axis_attribute(attributes::Flatten::axis, rank_of(*input), true));
  const std::span<const Dim> dims = *input;
  const auto split = static_cast<size_t>(axis);
  return call.give(
      0, call.dtype(0),
      Dims{call.math.product(dims.first(split)), call.math.product(dims.subspan(split))});
}

Result<void> infer_squeeze(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kIndexSet));
  const Shape input = call.shape(0);
  if (!input) return call.give(0, call.dtype(0), std::nullopt);
  std::vector<int64_t> axes;
  if (call.has_input(1)) {
    const auto given = call.integers(1);
    const Dim count = call.dim(1, 0);
    if (!given && count.is_fixed() && count.value <= rank_of(*input)) {
      return call.give(0, call.dtype(0), unknown_dims(Dim::fixed(rank_of(*input) - count.value)));
    }
    if (!given) return call.give(0, call.dtype(0), std::nullopt);
    SLUICE_ASSIGN(axes, call.axes(*given, rank_of(*input)));
  } else {
    for (size_t i = 0; i < input->size(); ++i) {
      const Dim& dim = (*input)[i];
      if (dim == Dim::fixed(1)) axes.push_back(static_cast<int64_t>(i));
      const bool maybe = !dim.is_fixed() && !call.math.is_differing(dim, Dim::fixed(1));
      if (maybe) return call.give(0, call.dtype(0), std::nullopt);
    }
  }
  for (const int64_t axis : axes) {
    const Dim& dim = (*input)[static_cast<size_t>(axis)];
    if (call.math.is_differing(dim, Dim::fixed(1)))
      return call.bad_shape("dim {} of {} is not 1", axis, call.input_name(0));
    call.require_equal(dim, Dim::fixed(1), "a squeezed dim and 1");
  }
  return call.give(0, call.dtype(0), without_axes(*input, axes, false));
}

Result<void> infer_unsqueeze(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kIndexSet));
  const Shape input = call.shape(0);
  const Dim count =
      call.input_type(1).ranked && call.input_type(1).rank() == 0 ? Dim::fixed(1) : call.dim(1, 0);
  if (!input || !count.is_fixed() || count.value > kMaxRank)
    return call.give(0, call.dtype(0), std::nullopt);
  const int64_t rank = rank_of(*input) + count.value;
  const auto given = call.integers(1);
  if (!given) return call.give(0, call.dtype(0), unknown_dims(Dim::fixed(rank)));
  SLUICE_ASSIGN(const std::vector<int64_t> axes, call.axes(*given, rank));
  Dims dims;
  size_t next = 0;
  for (int64_t i = 0; i < rank; ++i) {
    const bool added = std::find(axes.begin(), axes.end(), i) != axes.end();
    dims.push_back(added ? Dim::fixed(1) : (*input)[next++]);
  }
  return call.give(0, call.dtype(0), std::move(dims));
}

Result<void> infer_transpose(InferCall& call) {
  const Shape input = call.shape(0);
  const bool given = call.node.has(attributes::Transpose::perm);
  std::vector<int64_t> order = call.node.get(attributes::Transpose::perm);
  if (!input) {
    return call.give(
        0, call.dtype(0),
        given ? unknown_dims(Dim::fixed(static_cast<int64_t>(order.size()))) : Shape());
  }
  if (!given) {
    order.resize(input->size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  if (order.size() != input->size())
    return call.bad_shape("attribute 'perm' has {} elements, expected {}", order.size(),
                          input->size());
  SLUICE_ASSIGN(order, call.axes(order, rank_of(*input)));
  Dims dims;
  for (const int64_t axis : order) dims.push_back((*input)[static_cast<size_t>(axis)]);
  return call.give(0, call.dtype(0), std::move(dims));
}

// Returns `dim`, or `other` where the dim is 1: other + (dim - other) min(|dim - 1|, 1).
Dim unless_one(DimMath& math, const Dim& dim, const Dim& other) {
  const Dim more = math.subtract(dim, Dim::fixed(1));
  const Dim is_more =
      math.minimum(math.maximum(more, math.subtract(Dim::fixed(1), dim)), Dim::fixed(1));
  return math.add(other, math.multiply(math.subtract(dim, other), is_more));
}

// Requires each dim and its target, from the last one on, to be equal where neither is 1.
void require_expanded(InferCall& call, const Dims& input, const Dims& target) {
  DimMath& math = call.math;
  for (size_t i = 1; i <= std::min(input.size(), target.size()); ++i) {
    const Dim &x = input[input.size() - i], &t = target[target.size() - i];
    if (x == Dim::fixed(1) || t == Dim::fixed(1) || math.is_equal(x, t)) continue;
    call.require_equal(unless_one(math, x, t), unless_one(math, t, x),
                       fmt::format("dims {} from the end of the input and of the target", i));
  }
}

Result<void> infer_expand(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(1, kI64Set));
  SLUICE_TRY(call.expect_rank(1, 1));
  const Shape input = call.shape(0);
  auto target = call.value_dims(1);
  if (!target) target = unknown_dims(call.dim(1, 0));
  SLUICE_ASSIGN(Shape shape, call.broadcast(input, target));
  if (input && target) require_expanded(call, *input, *target);
  return call.give(0, call.dtype(0), std::move(shape));
}

Result<void> infer_shape(InferCall& call) {
  const Shape input = call.shape(0);
  if (!input) return call.give(0, DType::kI64, Dims(1, Dim::unknown()));
  const int64_t rank = rank_of(*input);
  const auto place = [&](int64_t given) {
    return std::clamp<int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  return call.give(
      0, DType::kI64,
      Dims{Dim::fixed(std::max<int64_t>(0, place(call.node.get(attributes::Shape::end, rank)) -
                                               place(call.node.get(attributes::Shape::start))))});
}

Result<void> infer_size(InferCall& call) { return call.give(0, DType::kI64, Dims{}); }

Result<void> infer_identity(InferCall& call) { return call.give_type(0, call.input_type(0)); }

// Infers blocks of b x b pixels that move between the channels and the two spatial dims.
Result<void> infer_depth_to_space(InferCall& call) {
  SLUICE_TRY(call.expect_rank(0, 4));
  const int64_t block = call.node.get(attributes::SpaceToDepth::blocksize);
  if (block <= 0 || block > 32767)
    return call.bad_node("attribute 'blocksize' is {}, expected 1 to 32767", block);
  const Shape input = call.shape(0);
  if (!input) return call.give(0, call.dtype(0), Dims(4, Dim::unknown()));
  const Dim& channels = (*input)[1];
  SLUICE_TRY(call.expect_multiple(channels, block * block, "channels"));
  return call.give(
      0, call.dtype(0),
      Dims{(*input)[0], call.math.floor_divide(channels, block * block),
           call.math.multiply((*input)[2], block), call.math.multiply((*input)[3], block)});
}

Result<void> infer_space_to_depth(InferCall& call) {
  SLUICE_TRY(call.expect_rank(0, 4));
  const int64_t block = call.node.get(attributes::SpaceToDepth::blocksize);
  if (block <= 0 || block > 32767)
    return call.bad_node("attribute 'blocksize' is {}, expected 1 to 32767", block);
  const Shape input = call.shape(0);
  if (!input) return call.give(0, call.dtype(0), Dims(4, Dim::unknown()));
  for (const size_t axis : {2, 3}) {
    SLUICE_TRY(call.expect_multiple((*input)[axis], block, axis == 2 ? "rows" : "columns"));
  }
  return call.give(
      0, call.dtype(0),
      Dims{(*input)[0], call.math.multiply((*input)[1], block * block),
           call.math.floor_divide((*input)[2], block), call.math.floor_divide((*input)[3], block)});
}

constexpr OpRow kShapeRows[] = {
    {Op::kDepthToSpace, 1, 1, 1, 1, 0, attribute_rows::DepthToSpace, infer_depth_to_space},
    {Op::kExpand, 2, 2, 1, 1, 0, {}, infer_expand},
    {Op::kFlatten, 1, 1, 1, 1, kView, attribute_rows::Flatten, infer_flatten},
    {Op::kIdentity, 1, 1, 1, 1, kElementwise | kView | kAnyKind, {}, infer_identity},
    {Op::kReshape, 2, 2, 1, 1, kView, attribute_rows::Reshape, infer_reshape},
    {Op::kShape, 1, 1, 1, 1, 0, attribute_rows::Shape, infer_shape},
    {Op::kSize, 1, 1, 1, 1, 0, {}, infer_size},
    {Op::kSpaceToDepth, 1, 1, 1, 1, 0, attribute_rows::SpaceToDepth, infer_space_to_depth},
    {Op::kSqueeze, 1, 2, 1, 1, kView, {}, infer_squeeze},
    {Op::kTranspose, 1, 1, 1, 1, 0, attribute_rows::Transpose, infer_transpose},
    {Op::kUnsqueeze, 2, 2, 1, 1, kView, {}, infer_unsqueeze},
};

}  // namespace

std::span<const OpRow> shape_rows() { return kShapeRows; }

}  // namespace sluice
