// Elementwise operators of one input.
#include <cmath>
#include <limits>

#include "common/loop/lower/families.h"
#include "common/loop/lower/reasons.h"
#include "common/loop/lower/scalars.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

template <ScalarOp op>
Result<Id> unary(Lowering& l, const Node& node, size_t, const Index& index) {
  SLUICE_ASSIGN(const Id x, l.element(*node.input(0), index));
  return l.scalar(op, x);
}

// A rule from a function of the element: Id f(Lowering&, const Node&, Id x).
template <Id (*f)(Lowering& l, const Node& node, Id x)>
Result<Id> rule(Lowering& l, const Node& node, size_t, const Index& index) {
  SLUICE_ASSIGN(const Id x, l.element(*node.input(0), index));
  return f(l, node, x);
}

Id real(Lowering& l, Id like, double value) { return l.real(l.dtype_of(like), value); }
Id below(Lowering& l, Id a, Id b) { return l.scalar(ScalarOp::kLess, a, b); }
Id unit_clip(Lowering& l, Id y) {  // to [0, 1]; NaN stays
  const Id zero = real(l, y, 0), one = real(l, y, 1);
  return select(l, below(l, y, zero), zero, select(l, below(l, one, y), one, y));
}

Id relu(Lowering& l, const Node&, Id x) {
  const Id zero = real(l, x, 0);
  return select(l, below(l, x, zero), zero, x);
}

// x > 0 ? x + log1p(exp(-x)) : log1p(exp(x))
Id softplus_of(Lowering& l, Id x) {
  const Id zero = real(l, x, 0);
  const Id magnitude = l.scalar(ScalarOp::kAbs, x);
  const Id small =
      l.scalar(ScalarOp::kLog1p, l.scalar(ScalarOp::kExp, l.scalar(ScalarOp::kNeg, magnitude)));
  return add(l, select(l, below(l, zero, x), x, zero), small);
}
Id softplus(Lowering& l, const Node&, Id x) { return softplus_of(l, x); }
Id softsign(Lowering& l, const Node&, Id x) {
  return l.scalar(ScalarOp::kDiv, x, add(l, real(l, x, 1), l.scalar(ScalarOp::kAbs, x)));
}
Id mish(Lowering& l, const Node&, Id x) {
  return mul(l, x, l.scalar(ScalarOp::kTanh, softplus_of(l, x)));
}
Id swish(Lowering& l, const Node& node, Id x) {
  const float alpha = node.get(attributes::Swish::alpha);
  const Id scaled = alpha == 1 ? x : mul(l, real(l, x, alpha), x);
  return mul(l, x, l.scalar(ScalarOp::kSigmoid, scaled));
}
Id hard_sigmoid(Lowering& l, const Node& node, Id x) {
  const Id alpha = real(l, x, node.get(attributes::HardSigmoid::alpha));
  const Id beta = real(l, x, node.get(attributes::HardSigmoid::beta));
  return unit_clip(l, add(l, mul(l, alpha, x), beta));
}
Id hard_swish(Lowering& l, const Node&, Id x) {
  const Id sixth = real(l, x, 1.0 / 6);
  return mul(l, x, unit_clip(l, add(l, mul(l, x, sixth), real(l, x, 0.5))));
}
Id elu(Lowering& l, const Node& node, Id x) {
  const Id alpha = real(l, x, node.get(attributes::Elu::alpha));
  return select(l, below(l, x, real(l, x, 0)), mul(l, alpha, l.scalar(ScalarOp::kExpm1, x)), x);
}
Id selu(Lowering& l, const Node& node, Id x) {
  const Id alpha = real(l, x, node.get(attributes::Selu::alpha));
  const Id gamma = real(l, x, node.get(attributes::Selu::gamma));
  const Id negative = mul(l, alpha, l.scalar(ScalarOp::kExpm1, x));
  return mul(l, gamma, select(l, below(l, real(l, x, 0), x), x, negative));
}
Id celu(Lowering& l, const Node& node, Id x) {
  const Id alpha = real(l, x, node.get(attributes::Celu::alpha));
  const Id power = l.scalar(ScalarOp::kExpm1, l.scalar(ScalarOp::kDiv, x, alpha));
  return select(l, below(l, x, real(l, x, 0)), mul(l, alpha, power), x);
}
Id leaky_relu(Lowering& l, const Node& node, Id x) {
  const Id alpha = real(l, x, node.get(attributes::LeakyRelu::alpha));
  return select(l, below(l, x, real(l, x, 0)), mul(l, alpha, x), x);
}
Id thresholded_relu(Lowering& l, const Node& node, Id x) {
  const Id alpha = real(l, x, node.get(attributes::ThresholdedRelu::alpha));
  return select(l, below(l, alpha, x), x, real(l, x, 0));
}
// Compares and shifts in f64, as the evaluator does.
Id shrink(Lowering& l, const Node& node, Id x) {
  const DType dtype = l.dtype_of(x);
  const double bias = node.get(attributes::Shrink::bias),
               lambda = node.get(attributes::Shrink::lambd);
  const Id wide = l.cast(x, DType::kF64);
  const Id raised = l.cast(add(l, wide, l.real(DType::kF64, bias)), dtype);
  const Id lowered = l.cast(sub(l, wide, l.real(DType::kF64, bias)), dtype);
  return select(l, below(l, wide, l.real(DType::kF64, -lambda)), raised,
                select(l, below(l, l.real(DType::kF64, lambda), wide), lowered, real(l, x, 0)));
}
Id gelu(Lowering& l, const Node& node, Id x) {
  const Id half = mul(l, real(l, x, 0.5), x), one = real(l, x, 1);
  if (node.get(attributes::Gelu::approximate) == "tanh") {
    const Id cube = mul(l, mul(l, mul(l, real(l, x, 0.044715), x), x), x);
    const Id inner = mul(l, real(l, x, 0.7978845608028654), add(l, x, cube));
    return mul(l, half, add(l, one, l.scalar(ScalarOp::kTanh, inner)));
  }
  const Id scaled = mul(l, x, real(l, x, 0.7071067811865476));
  return mul(l, half, add(l, one, l.scalar(ScalarOp::kErf, scaled)));
}
Id identity(Lowering&, const Node&, Id x) { return x; }
Id is_nan(Lowering& l, const Node&, Id x) {
  return l.scalar(ScalarOp::kNot, l.scalar(ScalarOp::kEqual, x, x));
}
Id is_inf(Lowering& l, const Node& node, Id x) {
  const double infinity = std::numeric_limits<double>::infinity();
  Id found = l.integer(DType::kBool, 0);
  if (node.get(attributes::IsInf::detect_positive) != 0)
    found = l.scalar(ScalarOp::kEqual, x, real(l, x, infinity));
  if (node.get(attributes::IsInf::detect_negative) != 0)
    found = l.scalar(ScalarOp::kOr, found, l.scalar(ScalarOp::kEqual, x, real(l, x, -infinity)));
  return found;
}

// Bounds that are not of x's dtype are ignored, as the evaluator does.
Result<Id> clip(Lowering& l, const Node& node, size_t, const Index& index) {
  SLUICE_ASSIGN(Id x, l.element(*node.input(0), index));
  if (node.input(1) != nullptr) {
    SLUICE_ASSIGN(const Id low, l.element(*node.input(1), l.first(*node.input(1))));
    x = select(l, below(l, x, low), low, x);
  }
  if (node.input(2) != nullptr) {
    SLUICE_ASSIGN(const Id high, l.element(*node.input(2), l.first(*node.input(2))));
    x = select(l, below(l, high, x), high, x);
  }
  return x;
}

std::string clip_reason(const Node& node) {
  for (size_t i = 1; i < node.input_count(); ++i) {
    if (node.input(i) != nullptr && node.input(i)->type().element_count() != 1)
      return "a bound is not one element";
  }
  return needs_numbers(node);
}

std::string input_needs_floats(const Node& node) {
  const DType dtype = node.input(0)->type().dtype;
  return dtype_is_float(dtype) ? std::string()
                               : fmt::format("dtype {}, only floats", dtype_name(dtype));
}

std::string not_reason(const Node& node) {
  return node.input(0)->type().dtype == DType::kBool ? std::string() : "only bools";
}
std::string bitwise_reason(const Node& node) {
  return dtype_is_integer(node.output().type().dtype) ? std::string() : "only integers";
}
std::string dropout_reason(const Node& node) {
  const auto training = Lowering::integers(node, 2);
  const bool inference =
      node.input(2) == nullptr || (training && training->size() == 1 && (*training)[0] == 0);
  return inference ? std::string() : "random numbers";
}
// Without training the mask is all true.
Result<Id> dropout(Lowering& l, const Node& node, size_t result, const Index& index) {
  if (result == 1) return l.integer(DType::kBool, 1);
  return l.element(*node.input(0), index);
}

constexpr LoweringRow kUnaryRows[] = {
    {Op::kAbs, needs_numbers, unary<ScalarOp::kAbs>},
    {Op::kNeg, needs_numbers, unary<ScalarOp::kNeg>},
    {Op::kSign, needs_numbers, unary<ScalarOp::kSign>},
    {Op::kRelu, needs_numbers, rule<relu>},
    {Op::kSqrt, needs_floats, unary<ScalarOp::kSqrt>},
    {Op::kReciprocal, needs_floats, unary<ScalarOp::kReciprocal>},
    {Op::kFloor, needs_floats, unary<ScalarOp::kFloor>},
    {Op::kCeil, needs_floats, unary<ScalarOp::kCeil>},
    {Op::kRound, needs_floats, unary<ScalarOp::kRound>},
    {Op::kExp, needs_floats, unary<ScalarOp::kExp>},
    {Op::kLog, needs_floats, unary<ScalarOp::kLog>},
    {Op::kErf, needs_floats, unary<ScalarOp::kErf>},
    {Op::kSin, needs_floats, unary<ScalarOp::kSin>},
    {Op::kCos, needs_floats, unary<ScalarOp::kCos>},
    {Op::kTan, needs_floats, unary<ScalarOp::kTan>},
    {Op::kAsin, needs_floats, unary<ScalarOp::kAsin>},
    {Op::kAcos, needs_floats, unary<ScalarOp::kAcos>},
    {Op::kAtan, needs_floats, unary<ScalarOp::kAtan>},
    {Op::kSinh, needs_floats, unary<ScalarOp::kSinh>},
    {Op::kCosh, needs_floats, unary<ScalarOp::kCosh>},
    {Op::kTanh, needs_floats, unary<ScalarOp::kTanh>},
    {Op::kAsinh, needs_floats, unary<ScalarOp::kAsinh>},
    {Op::kAcosh, needs_floats, unary<ScalarOp::kAcosh>},
    {Op::kAtanh, needs_floats, unary<ScalarOp::kAtanh>},
    {Op::kSigmoid, needs_floats, unary<ScalarOp::kSigmoid>},
    {Op::kSoftplus, needs_floats, rule<softplus>},
    {Op::kSoftsign, needs_floats, rule<softsign>},
    {Op::kMish, needs_floats, rule<mish>},
    {Op::kSwish, needs_floats, rule<swish>},
    {Op::kHardSigmoid, needs_floats, rule<hard_sigmoid>},
    {Op::kHardSwish, needs_floats, rule<hard_swish>},
    {Op::kElu, needs_floats, rule<elu>},
    {Op::kSelu, needs_floats, rule<selu>},
    {Op::kCelu, needs_floats, rule<celu>},
    {Op::kLeakyRelu, needs_floats, rule<leaky_relu>},
    {Op::kThresholdedRelu, needs_floats, rule<thresholded_relu>},
    {Op::kShrink, needs_numbers, rule<shrink>},
    {Op::kGelu, needs_floats, rule<gelu>},
    {Op::kIdentity, nullptr, rule<identity>, nullptr, ElementKinds::kNumbersAndNarrow},
    {Op::kDropout, dropout_reason, dropout},
    {Op::kIsNaN, input_needs_floats, rule<is_nan>},
    {Op::kIsInf, input_needs_floats, rule<is_inf>},
    {Op::kClip, clip_reason, clip},
    {Op::kNot, not_reason, unary<ScalarOp::kNot>},
    {Op::kBitwiseNot, bitwise_reason, unary<ScalarOp::kNot>},
};

}  // namespace

std::span<const LoweringRow> unary_rows() { return kUnaryRows; }

}  // namespace sluice::loop
