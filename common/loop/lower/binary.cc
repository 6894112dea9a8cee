// Elementwise operators of two and more inputs, with broadcasting.
#include "common/loop/lower/families.h"
#include "common/loop/lower/reasons.h"
#include "common/loop/lower/scalars.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

// f(f(x0, x1), x2) …: of one input, that input.
template <ScalarOp op>
Result<Id> fold(Lowering& l, const Node& node, size_t, const Index& index) {
  SLUICE_ASSIGN(Id result, l.broadcast_element(node, 0, index));
  for (size_t i = 1; i < node.input_count(); ++i) {
    SLUICE_ASSIGN(const Id x, l.broadcast_element(node, i, index));
    result = l.scalar(op, result, x);
  }
  return result;
}

Result<Id> mean(Lowering& l, const Node& node, size_t result, const Index& index) {
  SLUICE_ASSIGN(const Id sum, fold<ScalarOp::kAdd>(l, node, result, index));
  const auto count = static_cast<double>(node.input_count());
  return l.scalar(ScalarOp::kDiv, sum, l.real(l.dtype_of(sum), count));
}

// Compares the inputs in the order first, 1 - first: a > b is b < a.
template <ScalarOp op, size_t first>
Result<Id> compare(Lowering& l, const Node& node, size_t, const Index& index) {
  SLUICE_ASSIGN(const Id a, l.broadcast_element(node, first, index));
  SLUICE_ASSIGN(const Id b, l.broadcast_element(node, 1 - first, index));
  return l.scalar(op, a, b);
}

Result<Id> mod(Lowering& l, const Node& node, size_t result, const Index& index) {
  return node.get(attributes::Mod::fmod) != 0 ? fold<ScalarOp::kRemainder>(l, node, result, index)
                                              : fold<ScalarOp::kFloorMod>(l, node, result, index);
}

// An exponent that is a whole number of at least 0, and constant.
std::optional<int64_t> whole_exponent(const Node& node) {
  const auto exponent = Lowering::integers(node, 1);
  if (!exponent || exponent->size() != 1 || (*exponent)[0] < 0) return std::nullopt;
  return (*exponent)[0];
}

// Computes in the dtype of the base; small exponents are products, as exponent 2 is in the
// evaluator, and those of integers.
Result<Id> pow(Lowering& l, const Node& node, size_t, const Index& index) {
  SLUICE_ASSIGN(const Id base, l.broadcast_element(node, 0, index));
  const auto whole = whole_exponent(node);
  if (whole && (*whole <= 3 || !dtype_is_float(l.dtype_of(base))))
    return whole_power(l, base, *whole);
  SLUICE_ASSIGN(const Id exponent, l.broadcast_element(node, 1, index));
  return l.scalar(ScalarOp::kPow, base, l.cast(exponent, l.dtype_of(base)));
}

std::string pow_reason(const Node& node) {
  if (!dtype_is_float(node.input(0)->type().dtype) && !whole_exponent(node))
    return "integers to a power that is no constant whole number";
  return needs_known_broadcast(node);
}

Result<Id> prelu(Lowering& l, const Node& node, size_t, const Index& index) {
  SLUICE_ASSIGN(const Id x, l.broadcast_element(node, 0, index));
  SLUICE_ASSIGN(const Id slope, l.broadcast_element(node, 1, index));
  const Id zero = l.real(l.dtype_of(x), 0);
  return l.scalar(ScalarOp::kSelect, l.scalar(ScalarOp::kLess, x, zero),
                  l.scalar(ScalarOp::kMul, slope, x), x);
}

Result<Id> bit_shift(Lowering& l, const Node& node, size_t result, const Index& index) {
  return node.get(attributes::BitShift::direction) == "LEFT"
             ? fold<ScalarOp::kShiftLeft>(l, node, result, index)
             : fold<ScalarOp::kShiftRight>(l, node, result, index);
}

Result<Id> where(Lowering& l, const Node& node, size_t, const Index& index) {
  SLUICE_ASSIGN(const Id condition, l.broadcast_element(node, 0, index));
  SLUICE_ASSIGN(const Id yes, l.broadcast_element(node, 1, index));
  SLUICE_ASSIGN(const Id no, l.broadcast_element(node, 2, index));
  return l.scalar(ScalarOp::kSelect, condition, yes, no);
}

// Computes a / (1 + exp(-alpha a)) b.
Result<Id> swiglu(Lowering& l, const Node& node, size_t, const Index& index) {
  SLUICE_ASSIGN(const Id gate, l.broadcast_element(node, 0, index));
  SLUICE_ASSIGN(const Id x, l.broadcast_element(node, 1, index));
  const float alpha = node.get(attributes::SwiGLU::alpha);
  const Id scaled = alpha == 1 ? gate : mul(l, l.real(l.dtype_of(gate), alpha), gate);
  return mul(l, mul(l, gate, l.scalar(ScalarOp::kSigmoid, scaled)), x);
}

std::string float_fold_reason(const Node& node) {
  std::string reason = needs_floats(node);
  return reason.empty() ? needs_known_broadcast(node) : reason;
}

constexpr LoweringRow kBinaryRows[] = {
    {Op::kAdd, needs_broadcast_numbers, fold<ScalarOp::kAdd>},
    {Op::kSub, needs_broadcast_numbers, fold<ScalarOp::kSub>},
    {Op::kMul, needs_broadcast_numbers, fold<ScalarOp::kMul>},
    {Op::kDiv, needs_broadcast_numbers, fold<ScalarOp::kDiv>},
    {Op::kMod, needs_broadcast_numbers, mod},
    {Op::kPow, pow_reason, pow},
    {Op::kPRelu, needs_broadcast_numbers, prelu},
    {Op::kMax, needs_broadcast_numbers, fold<ScalarOp::kMax>},
    {Op::kMin, needs_broadcast_numbers, fold<ScalarOp::kMin>},
    {Op::kSum, float_fold_reason, fold<ScalarOp::kAdd>},
    {Op::kMean, float_fold_reason, mean},
    {Op::kSwiGLU, float_fold_reason, swiglu},
    {Op::kAnd, needs_known_broadcast, fold<ScalarOp::kAnd>},
    {Op::kOr, needs_known_broadcast, fold<ScalarOp::kOr>},
    {Op::kXor, needs_known_broadcast, fold<ScalarOp::kXor>},
    {Op::kBitwiseAnd, needs_broadcast_numbers, fold<ScalarOp::kAnd>},
    {Op::kBitwiseOr, needs_broadcast_numbers, fold<ScalarOp::kOr>},
    {Op::kBitwiseXor, needs_broadcast_numbers, fold<ScalarOp::kXor>},
    {Op::kBitShift, needs_broadcast_numbers, bit_shift},
    {Op::kEqual, needs_known_broadcast, compare<ScalarOp::kEqual, 0>},
    {Op::kLess, needs_known_broadcast, compare<ScalarOp::kLess, 0>},
    {Op::kLessOrEqual, needs_known_broadcast, compare<ScalarOp::kLessOrEqual, 0>},
    {Op::kGreater, needs_known_broadcast, compare<ScalarOp::kLess, 1>},
    {Op::kGreaterOrEqual, needs_known_broadcast, compare<ScalarOp::kLessOrEqual, 1>},
    {Op::kWhere, needs_known_broadcast, where},
};

}  // namespace

std::span<const LoweringRow> binary_rows() { return kBinaryRows; }

}  // namespace sluice::loop
