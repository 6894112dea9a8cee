// The domain "sluice": ops of the compiler that ONNX does not have.
#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/bodies.h"
#include "common/ops/families.h"

namespace sluice {
namespace {

// Infers a node whose inputs are the body's inputs and whose results are the body's results.
Result<void> infer_through(InferCall& call, const BodyAttribute& attribute) {
  SLUICE_ASSIGN(Graph * body, find_body(call, attribute));
  SLUICE_TRY(check_body(call, *body, static_cast<int64_t>(call.input_count()),
                        static_cast<int64_t>(call.node.output_count())));
  std::vector<BodyInput> inputs;
  for (size_t i = 0; i < call.input_count(); ++i)
    inputs.push_back({call.input_type(i), static_cast<int64_t>(i)});
  SLUICE_TRY(infer_body(call, *body, inputs, true, call.changed));
  for (size_t i = 0; i < call.node.output_count(); ++i)
    SLUICE_TRY(call.give_type(i, body->outputs()[i]->type()));
  return {};
}

Result<void> infer_call(InferCall& call) { return infer_through(call, attributes::Call::graph); }

Result<void> infer_fused(InferCall& call) { return infer_through(call, attributes::Fused::body); }

// Infers each spatial dim: that of the phases times its stride, less what is cut off at both ends.
Result<Dims> interleaved_dims(InferCall& call, std::span<const Dim> in,
                              const std::vector<int64_t>& strides) {
  SLUICE_ASSIGN(const auto pads, call.ints(attributes::Strided::pads, 2 * in.size(), 0));
  Dims dims;
  for (size_t i = 0; i < in.size(); ++i) {
    const Dim whole = call.math.multiply(in[i], strides[i]);
    dims.push_back(call.math.add(call.math.add(whole, -pads[i]), -pads[i + in.size()]));
  }
  return dims;
}

// Returns the shape that all phases have.
Result<Shape> phase_shape(InferCall& call) {
  Shape shape;
  for (size_t i = 0; i < call.input_count(); ++i) {
    SLUICE_TRY(call.expect_rank(i, 3, INT64_MAX));
    SLUICE_TRY(call.expect_same_dtype(i, 0));
    SLUICE_ASSIGN(shape, call.unify(shape, call.shape(i), "the shapes of its phases"));
  }
  return shape;
}

// Joins phases: every stride-th element of the result along a spatial axis is of the same one.
//
//   Y[n, c, stride * j + r - pad] = X_r[n, c, j]
//
// Phases are counted over all axes, the last one fastest. Each is an input, of which
// those after the first may be absent: zeros; or a single input has all of them as channels, group
// by group:
//
//   Y[n, g * C + c, …] = X[n, (g * phases + r) * C + c, …]
Result<void> infer_interleave(InferCall& call) {
  SLUICE_ASSIGN(const Shape shape, phase_shape(call));
  const int64_t group = call.node.get(attributes::Interleave::group);
  if (group < 1) return call.bad_node("attribute 'group' is {}, expected at least 1", group);
  if (!shape) return call.give(0, call.dtype(0), std::nullopt);
  const size_t spatial = shape->size() - 2;
  SLUICE_ASSIGN(const auto strides, call.ints(attributes::Strided::strides, spatial, 1));
  Dim phases = Dim::fixed(1);
  for (const int64_t stride : strides) phases = call.math.multiply(phases, stride);
  const auto inputs = static_cast<int64_t>(call.input_count());
  if (inputs != 1 && inputs != phases.value)
    return call.bad_node("{} inputs, expected 1 or {}", inputs, phases.value);
  Dim channels = (*shape)[1];
  if (inputs == 1) {
    if (channels.is_fixed() && channels.value % call.math.multiply(phases, group).value != 0)
      return call.bad_shape("{} channels cannot be divided into {} groups of {} phases",
                            channels.value, group, phases.value);
    channels = call.math.floor_divide(channels, phases);
  }
  Dims dims = {(*shape)[0], channels};
  SLUICE_ASSIGN(const Dims out, interleaved_dims(call, std::span(*shape).subspan(2), strides));
  dims.insert(dims.end(), out.begin(), out.end());
  return call.give(0, call.dtype(0), std::move(dims));
}

// Infers the inverses of square matrices: [..., M, M].
Result<void> infer_inverse(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_rank(0, 2, INT64_MAX));
  Shape shape = call.shape(0);
  if (!shape) return call.give(0, call.dtype(0), std::nullopt);
  SLUICE_ASSIGN(const Dim size,
                call.unify((*shape)[shape->size() - 2], shape->back(), "rows and columns"));
  (*shape)[shape->size() - 2] = shape->back() = size;
  return call.give(0, call.dtype(0), std::move(shape));
}

// Infers the probabilities of C classes from those of the first class of each pair, in the order
// (0, 1), (0, 2), …, (1, 2), …: f32 [N, C].
Result<void> infer_pairwise_coupling(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, dtype_set({DType::kF32})));
  SLUICE_TRY(call.expect_rank(0, 2));
  constexpr int64_t kMaxClasses = 1 << 16;
  const int64_t classes = call.node.get(attributes::PairwiseCoupling::classes);
  if (classes < 2 || classes > kMaxClasses)
    return call.bad_node("attribute 'classes' is {}, expected 2 to {}", classes, kMaxClasses);
  SLUICE_TRY(call.unify(call.dim(0, 1), Dim::fixed(classes * (classes - 1) / 2),
                        fmt::format("its columns and the pairs of {} classes", classes)));
  return call.give(0, DType::kF32, Dims{call.dim(0, 0), Dim::fixed(classes)});
}

Result<void> infer_copy(InferCall& call) { return call.give_type(0, call.input_type(0)); }

// Infers nothing: the results keep the types that were set, since no value of them ever exists.
Result<void> infer_nothing(InferCall&) { return {}; }

constexpr OpRow kSluiceRows[] = {
    {Op::kCall, 0, -1, 0, -1, kControlFlow | kAnyKind, attribute_rows::Call, infer_call},
    {Op::kFail, 0, 0, 1, -1, kAnyKind, attribute_rows::Fail, infer_nothing},
    {Op::kFused, 1, -1, 1, -1, kControlFlow | kAnyKind, attribute_rows::Fused, infer_fused},
    {Op::kInterleave, 1, -1, 1, 1, 0, attribute_rows::Interleave, infer_interleave},
    {Op::kInverse, 1, 1, 1, 1, 0, {}, infer_inverse},
    {Op::kMemCopy, 1, 1, 1, 1, kElementwise | kAnyKind, attribute_rows::MemCopy, infer_copy},
    {Op::kPairwiseCoupling, 1, 1, 1, 1, 0, attribute_rows::PairwiseCoupling,
     infer_pairwise_coupling},
    {Op::kTransData, 1, 1, 1, 1, kElementwise, {}, infer_copy},
};

}  // namespace

std::span<const OpRow> sluice_rows() { return kSluiceRows; }

}  // namespace sluice
