// Ops over broadcast operands: arithmetic, comparison, logic, selection.
#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

template <uint32_t set>
Result<Shape> broadcast_all(InferCall& call, size_t first) {
  for (size_t i = first; i < call.input_count(); ++i) {
    SLUICE_TRY(call.expect_dtype(i, set));
    SLUICE_TRY(call.expect_same_dtype(i, first));
  }
  return call.broadcast_inputs(first, call.input_count() - first);
}

// Returns the first known dtype; the operands' dtypes are equal.
DType common_dtype(const InferCall& call, size_t first) {
  for (size_t i = first; i < call.input_count(); ++i) {
    if (call.dtype(i) != DType::kUndefined) return call.dtype(i);
  }
  return DType::kUndefined;
}

template <uint32_t set>
Result<void> infer_arithmetic(InferCall& call) {
  SLUICE_ASSIGN(Shape shape, broadcast_all<set>(call, 0));
  return call.give(0, common_dtype(call, 0), std::move(shape));
}

template <uint32_t set>
Result<void> infer_comparison(InferCall& call) {
  SLUICE_ASSIGN(Shape shape, broadcast_all<set>(call, 0));
  return call.give(0, DType::kBool, std::move(shape));
}

Result<void> infer_pow(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kNumericSet));
  SLUICE_TRY(call.expect_dtype(1, kNumericSet));
  SLUICE_ASSIGN(Shape shape, call.broadcast_inputs(0, 2));
  return call.give(0, call.dtype(0), std::move(shape));
}

Result<void> infer_mod(InferCall& call) {
  const DType dtype = call.dtype(0);
  if (dtype_is_float(dtype) && call.node.get(attributes::Mod::fmod) == 0) {
    return call.bad_node("attribute 'fmod' must be 1 for {}", dtype_name(dtype));
  }
  return infer_arithmetic<kNumericSet>(call);
}

Result<void> infer_bit_shift(InferCall& call) {
  const std::string direction = call.node.get(attributes::BitShift::direction);
  if (direction != "LEFT" && direction != "RIGHT")
    return call.bad_node("attribute 'direction' is '{}', expected LEFT or RIGHT", direction);
  return infer_arithmetic<kUnsignedSet>(call);
}

// Infers PRelu. The slope broadcasts to the input, not both to each other.
Result<void> infer_prelu(InferCall& call) {
  SLUICE_TRY(call.expect_same_dtype(1, 0));
  SLUICE_ASSIGN(const Shape shape, call.broadcast_inputs(0, 2));
  const Shape input = call.shape(0);
  if (shape && input)
    SLUICE_TRY(call.unify(shape, input, "the input's shape and that of the slope spread to it"));
  return call.give_like(0, 0);
}

// Infers Swish(a) b, without broadcasting.
Result<void> infer_swiglu(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet));
  SLUICE_TRY(call.expect_same_dtype(1, 0));
  SLUICE_ASSIGN(Shape shape, call.unify(call.shape(0), call.shape(1),
                                        fmt::format("shapes of {} and {}", call.input_name(0),
                                                    call.input_name(1))));
  return call.give(0, common_dtype(call, 0), std::move(shape));
}

Result<void> infer_where(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kBoolSet));
  SLUICE_TRY(call.expect_same_dtype(2, 1));
  SLUICE_ASSIGN(Shape shape, call.broadcast_inputs(0, 3));
  return call.give(0, common_dtype(call, 1), std::move(shape));
}

constexpr uint32_t kEqualSet = kNumericSet | kBoolSet | dtype_set({DType::kString});

constexpr OpRow binary_row(Op op, Result<void> (*infer)(InferCall&), uint32_t flags = 0,
                           std::span<const AttributeRow> attributes = {}) {
  return {op, 2, 2, 1, 1, kElementwise | flags, attributes, infer};
}
constexpr OpRow variadic(Op op, Result<void> (*infer)(InferCall&)) {
  return {op, 1, -1, 1, 1, kElementwise | kCommutative, {}, infer};
}

constexpr OpRow kElementwiseBinaryRows[] = {
    binary_row(Op::kAdd, infer_arithmetic<kNumericSet>, kCommutative),
    binary_row(Op::kAnd, infer_arithmetic<kBoolSet>, kCommutative),
    binary_row(Op::kBitShift, infer_bit_shift, 0, attribute_rows::BitShift),
    binary_row(Op::kBitwiseAnd, infer_arithmetic<kIntegerSet>, kCommutative),
    binary_row(Op::kBitwiseOr, infer_arithmetic<kIntegerSet>, kCommutative),
    binary_row(Op::kBitwiseXor, infer_arithmetic<kIntegerSet>, kCommutative),
    binary_row(Op::kDiv, infer_arithmetic<kNumericSet>),
    binary_row(Op::kEqual, infer_comparison<kEqualSet>, kCommutative),
    binary_row(Op::kGreater, infer_comparison<kNumericSet>),
    binary_row(Op::kGreaterOrEqual, infer_comparison<kNumericSet>),
    binary_row(Op::kLess, infer_comparison<kNumericSet>),
    binary_row(Op::kLessOrEqual, infer_comparison<kNumericSet>),
    variadic(Op::kMax, infer_arithmetic<kNumericSet>),
    variadic(Op::kMean, infer_arithmetic<kFloatSet>),
    variadic(Op::kMin, infer_arithmetic<kNumericSet>),
    binary_row(Op::kMod, infer_mod, 0, attribute_rows::Mod),
    binary_row(Op::kMul, infer_arithmetic<kNumericSet>, kCommutative),
    binary_row(Op::kOr, infer_arithmetic<kBoolSet>, kCommutative),
    binary_row(Op::kPRelu, infer_prelu),
    binary_row(Op::kPow, infer_pow),
    binary_row(Op::kSub, infer_arithmetic<kNumericSet>),
    variadic(Op::kSum, infer_arithmetic<kFloatSet>),
    binary_row(Op::kSwiGLU, infer_swiglu, 0, attribute_rows::SwiGLU),
    {Op::kWhere, 3, 3, 1, 1, kElementwise, {}, infer_where},
    binary_row(Op::kXor, infer_arithmetic<kBoolSet>, kCommutative),
};

}  // namespace

std::span<const OpRow> elementwise_binary_rows() { return kElementwiseBinaryRows; }

}  // namespace sluice
