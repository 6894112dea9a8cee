// Ops that compute each element of their result from one element of their first input.
#include "common/ops/attribute_rows.h"
#include "common/ops/attributes.h"
#include "common/ops/families.h"
#include "common/ops/infer_call.h"

namespace sluice {
namespace {

constexpr uint32_t kF8Set =
    dtype_set({DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ});

template <uint32_t set>
Result<void> infer_same(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, set));
  return call.give_like(0, 0);
}

template <uint32_t set>
Result<void> infer_bool(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, set));
  return call.give(0, DType::kBool, call.shape(0));
}

Result<void> infer_clip(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kNumericSet));
  for (const size_t bound : {1, 2}) {
    SLUICE_TRY(call.expect_same_dtype(bound, 0));
    SLUICE_TRY(call.expect_one_element(bound));
  }
  return call.give_like(0, 0);
}

Result<void> infer_dropout(InferCall& call) {
  SLUICE_TRY(call.expect_dtype(0, kFloatSet | kF8Set));
  SLUICE_TRY(call.expect_dtype(1, kFloatSet | kF8Set));
  SLUICE_TRY(call.expect_dtype(2, kBoolSet));
  SLUICE_TRY(call.expect_one_element(1));
  SLUICE_TRY(call.expect_one_element(2));
  SLUICE_TRY(call.give_like(0, 0));
  return call.give(1, DType::kBool, call.shape(0));
}

Result<void> infer_cast(InferCall& call) {
  const int64_t to = call.node.get(attributes::Cast::to);
  if (to <= 0 || to > INT32_MAX || !dtype_is_valid(static_cast<int>(to)))
    return call.bad_node("attribute 'to' names no dtype: {}", to);
  return call.give(0, static_cast<DType>(to), call.shape(0));
}

Result<void> infer_cast_like(InferCall& call) { return call.give(0, call.dtype(1), call.shape(0)); }

// Infers the same bits under another dtype, whose elements are as wide. Passes an input of unknown
// width.
Result<void> infer_bit_cast(InferCall& call) {
  const int64_t to = call.node.get(attributes::BitCast::to);
  if (to <= 0 || to > INT32_MAX || !dtype_is_valid(static_cast<int>(to)))
    return call.bad_node("attribute 'to' names no dtype: {}", to);
  const auto target = static_cast<DType>(to);
  const int from_bits = dtype_bits(call.dtype(0));
  const int to_bits = dtype_bits(target);
  if (to_bits == 0) return call.bad_node("a {} has no bits to cast", dtype_name(target));
  if (from_bits == 0 || from_bits == to_bits) return call.give(0, target, call.shape(0));
  return call.bad_node("{} has elements of {} bits, expected {}", call.input_name(0), from_bits,
                       to_bits);
}

constexpr uint32_t kSignedNumericSet = kFloatSet | kSignedSet;

constexpr OpRow unary(Op op, Result<void> (*infer)(InferCall&),
                      std::span<const AttributeRow> attributes = {}) {
  return {op, 1, 1, 1, 1, kElementwise, attributes, infer};
}

constexpr OpRow kElementwiseUnaryRows[] = {
    unary(Op::kAbs, infer_same<kNumericSet>),
    unary(Op::kAcos, infer_same<kFloatSet>),
    unary(Op::kAcosh, infer_same<kFloatSet>),
    unary(Op::kAsin, infer_same<kFloatSet>),
    unary(Op::kAsinh, infer_same<kFloatSet>),
    unary(Op::kAtan, infer_same<kFloatSet>),
    unary(Op::kAtanh, infer_same<kFloatSet>),
    unary(Op::kBitCast, infer_bit_cast, attribute_rows::BitCast),
    unary(Op::kBitwiseNot, infer_same<kIntegerSet>),
    unary(Op::kCast, infer_cast, attribute_rows::Cast),
    {Op::kCastLike, 2, 2, 1, 1, 0, attribute_rows::CastLike, infer_cast_like},
    unary(Op::kCeil, infer_same<kFloatSet>),
    unary(Op::kCelu, infer_same<kFloatSet>, attribute_rows::Celu),
    {Op::kClip, 1, 3, 1, 1, kElementwise, {}, infer_clip},
    unary(Op::kCos, infer_same<kFloatSet>),
    unary(Op::kCosh, infer_same<kFloatSet>),
    {Op::kDropout, 1, 3, 1, 2, kRandom, attribute_rows::Dropout, infer_dropout},
    unary(Op::kElu, infer_same<kFloatSet>, attribute_rows::Elu),
    unary(Op::kErf, infer_same<kNumericSet>),
    unary(Op::kExp, infer_same<kFloatSet>),
    unary(Op::kFloor, infer_same<kFloatSet>),
    unary(Op::kGelu, infer_same<kFloatSet>, attribute_rows::Gelu),
    unary(Op::kHardSigmoid, infer_same<kFloatSet>, attribute_rows::HardSigmoid),
    unary(Op::kHardSwish, infer_same<kFloatSet>),
    unary(Op::kIsInf, infer_bool<kFloatSet | kF8Set>, attribute_rows::IsInf),
    unary(Op::kIsNaN, infer_bool<kFloatSet | kF8Set>),
    unary(Op::kLeakyRelu, infer_same<kFloatSet>, attribute_rows::LeakyRelu),
    unary(Op::kLog, infer_same<kFloatSet>),
    unary(Op::kMish, infer_same<kFloatSet>),
    unary(Op::kNeg, infer_same<kSignedNumericSet>),
    unary(Op::kNot, infer_same<kBoolSet>),
    unary(Op::kReciprocal, infer_same<kFloatSet>),
    unary(Op::kRelu, infer_same<kSignedNumericSet>),
    unary(Op::kRound, infer_same<kFloatSet>),
    unary(Op::kSelu, infer_same<kFloatSet>, attribute_rows::Selu),
    unary(Op::kShrink, infer_same<kNumericSet>, attribute_rows::Shrink),
    unary(Op::kSigmoid, infer_same<kFloatSet>),
    unary(Op::kSign, infer_same<kNumericSet>),
    unary(Op::kSin, infer_same<kFloatSet>),
    unary(Op::kSinh, infer_same<kFloatSet>),
    unary(Op::kSoftplus, infer_same<kFloatSet>),
    unary(Op::kSoftsign, infer_same<kFloatSet>),
    unary(Op::kSqrt, infer_same<kFloatSet>),
    unary(Op::kSwish, infer_same<kFloatSet>, attribute_rows::Swish),
    unary(Op::kTan, infer_same<kFloatSet>),
    unary(Op::kTanh, infer_same<kFloatSet>),
    unary(Op::kThresholdedRelu, infer_same<kFloatSet>, attribute_rows::ThresholdedRelu),
};

}  // namespace

std::span<const OpRow> elementwise_unary_rows() { return kElementwiseUnaryRows; }

}  // namespace sluice
