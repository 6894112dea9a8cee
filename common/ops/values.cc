// Value facts: the contents of small integer tensors as functions of those of others, so that the
// arithmetic that exporters do on shapes becomes expressions. Floats that are whole numbers count,
// too, since some exporters compute sizes in floats.
#include <algorithm>

#include "common/ops/attributes.h"
#include "common/ops/infer_steps.h"
#include "common/ops/small_constant.h"

namespace sluice {
namespace {

using Elements = std::vector<ExpressionId>;
using Answer = std::optional<Elements>;

// Returns the number of elements of result 0, when it may have a fact.
std::optional<size_t> result_size(const InferCall& call) {
  const Type& type = call.node.output().type();
  if (!type.is_tensor() || !type.ranked || type.rank() > 1) return std::nullopt;
  const auto count = type.element_count();
  if (!count || *count > static_cast<int64_t>(ValueFacts::kMaxElements)) return std::nullopt;
  return static_cast<size_t>(*count);
}

bool is_float_result(const InferCall& call) {
  return dtype_is_float(call.node.output().type().dtype);
}

// Returns nothing where the expression would become too long.
std::optional<ExpressionId> make(InferCall& call, ExpressionOp op, ExpressionId a, ExpressionId b) {
  ExpressionTable& table = call.module.expressions;
  return table.stays_small(op, a, b) ? std::optional(table.make(op, a, b)) : std::nullopt;
}

template <ExpressionOp op>
std::optional<ExpressionId> arithmetic(InferCall& call, ExpressionId a, ExpressionId b) {
  return make(call, op, a, b);
}

std::optional<ExpressionId> subtract(InferCall& call, ExpressionId a, ExpressionId b) {
  return make(call, ExpressionOp::kAdd, a,
              call.module.expressions.multiply(call.module.expressions.constant(-1), b));
}

// Divides integers as Div does, towards zero, which is floor division where the dividend is not
// negative or the division has no remainder.
std::optional<ExpressionId> divide(InferCall& call, ExpressionId a, ExpressionId b) {
  ExpressionTable& table = call.module.expressions;
  const auto dividend = table.as_constant(a);
  const auto divisor = table.as_constant(b);
  if (divisor && *divisor <= 0 && (!dividend || *divisor == 0 || *dividend == INT64_MIN))
    return std::nullopt;
  if (dividend && divisor) {
    if (is_float_result(call) && *dividend % *divisor != 0) return std::nullopt;
    return table.constant(*dividend / *divisor);
  }
  // The check below multiplies them.
  if (!table.stays_small(ExpressionOp::kMod, a, b)) return std::nullopt;
  const ExpressionId quotient = table.floor_divide(a, b);
  if (!table.assume_positive(b) && quotient != table.constant(1)) return std::nullopt;
  if (table.multiply(quotient, b) == a) return quotient;
  if (is_float_result(call) || table.bounds(a).low < 0) return std::nullopt;
  return quotient;
}

std::optional<ExpressionId> remainder(InferCall& call, ExpressionId a, ExpressionId b) {
  ExpressionTable& table = call.module.expressions;
  const auto dividend = table.as_constant(a);
  const auto divisor = table.as_constant(b);
  if (dividend && divisor) {
    if (*divisor == 0 || *divisor == -1) return std::nullopt;
    const int64_t remainder = *dividend % *divisor;
    const bool turn = call.node.get(attributes::Mod::fmod) == 0 && remainder != 0 &&
                      (remainder < 0) != (*divisor < 0);
    return table.constant(turn ? remainder + *divisor : remainder);
  }
  if (table.bounds(a).low < 0 || !table.assume_positive(b)) return std::nullopt;
  return make(call, ExpressionOp::kMod, a, b);
}

std::optional<bool> decided(InferCall& call, Op op, ExpressionId a, ExpressionId b) {
  ExpressionTable& table = call.module.expressions;
  const bool same = table.prove_equal(a, b);
  const Interval range = table.bounds(table.subtract(a, b));
  switch (op) {
    case Op::kEqual:
      if (same) return true;
      return range.low > 0 || range.high < 0 ? std::optional(false) : std::nullopt;
    case Op::kLess:
      if (same || range.low >= 0) return false;
      return range.high < 0 ? std::optional(true) : std::nullopt;
    case Op::kGreater:
      return decided(call, Op::kLess, b, a);
    default: {  // LessOrEqual, GreaterOrEqual
      const auto opposite =
          op == Op::kLessOrEqual ? decided(call, Op::kLess, b, a) : decided(call, Op::kLess, a, b);
      return opposite ? std::optional(!*opposite) : std::nullopt;
    }
  }
}

// Decides it also where that takes open symbols to be at least 1.
std::optional<ExpressionId> compare(InferCall& call, ExpressionId a, ExpressionId b) {
  ExpressionTable& table = call.module.expressions;
  auto holds = decided(call, call.node.op(), a, b);
  if (!holds) {
    const size_t before = table.mark();
    table.raise_lows(table.subtract(a, b));
    holds = decided(call, call.node.op(), a, b);
    if (!holds) table.forget_since(before);
  }
  return holds ? std::optional(table.constant(*holds ? 1 : 0)) : std::nullopt;
}

std::optional<ExpressionId> logic(InferCall& call, ExpressionId a, ExpressionId b) {
  ExpressionTable& table = call.module.expressions;
  const auto left = table.as_constant(a);
  const auto right = table.as_constant(b);
  if (!left || !right) return std::nullopt;
  const bool x = *left != 0;
  const bool y = *right != 0;
  return table.constant((call.node.op() == Op::kAnd  ? x && y
                         : call.node.op() == Op::kOr ? x || y
                                                     : x != y)
                            ? 1
                            : 0);
}

bool is_saturated(const InferCall& call, ExpressionId element) {
  const auto number = call.module.expressions.as_constant(element);
  return number && (*number == INT64_MAX || *number == INT64_MIN);
}

using Binary = std::optional<ExpressionId> (*)(InferCall&, ExpressionId, ExpressionId);

Answer apply_binary(InferCall& call, const Elements& a, const Elements& b, size_t size,
                    Binary function) {
  Elements result;
  for (size_t i = 0; i < size; ++i) {
    const auto element = function(call, a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    if (!element || is_saturated(call, *element)) return std::nullopt;
    result.push_back(*element);
  }
  return result;
}

template <Binary function>
Answer binary_values(InferCall& call, size_t size) {
  const auto* first = call.value(0);
  if (first == nullptr) return std::nullopt;
  Elements result = *first;
  for (size_t i = 1; i < call.input_count(); ++i) {
    const auto* next = call.value(i);
    if (next == nullptr || (next->size() != 1 && next->size() != size) ||
        (result.size() != 1 && result.size() != size))
      return std::nullopt;
    const Elements right = *next;
    auto combined = apply_binary(
        call, result, right,
        i + 1 == call.input_count() ? size : std::max(result.size(), right.size()), function);
    if (!combined) return std::nullopt;
    result = std::move(*combined);
  }
  return result;
}

// Returns the same elements in the same order.
Answer same(InferCall& call, size_t size) {
  const auto* elements = call.value(0);
  if (elements == nullptr || elements->size() != size) return std::nullopt;
  return *elements;
}

// Returns the one element of input 0 as every element of the result.
Answer spread(InferCall& call, size_t size) {
  const auto* elements = call.value(0);
  if (elements == nullptr) return std::nullopt;
  if (elements->size() == size) return *elements;
  return elements->size() == 1 ? Answer(Elements(size, elements->front())) : std::nullopt;
}

Answer cast(InferCall& call, size_t size) {
  const auto* elements = call.value(0);
  if (elements == nullptr || elements->size() != size) return std::nullopt;
  const DType to = call.node.output().type().dtype;
  ExpressionTable& table = call.module.expressions;
  if (to == DType::kBool) {
    Elements result;
    for (const ExpressionId element : *elements) {
      const auto number = table.as_constant(element);
      if (!number) return std::nullopt;
      result.push_back(table.constant(*number != 0 ? 1 : 0));
    }
    return result;
  }
  // Sizes fit signed 32 bits and are exact in f32 below 2^24; narrower types could wrap or round.
  const bool wide =
      to == DType::kI64 || to == DType::kI32 || to == DType::kF32 || to == DType::kF64;
  return wide ? Answer(*elements) : std::nullopt;
}

Answer negate(InferCall& call, size_t size) {
  Answer elements = same(call, size);
  if (!elements) return std::nullopt;
  ExpressionTable& table = call.module.expressions;
  for (ExpressionId& element : *elements) element = table.multiply(table.constant(-1), element);
  return elements;
}

Answer invert(InferCall& call, size_t size) {
  Answer elements = same(call, size);
  if (!elements) return std::nullopt;
  ExpressionTable& table = call.module.expressions;
  for (ExpressionId& element : *elements) {
    const auto number = table.as_constant(element);
    if (!number) return std::nullopt;
    element = table.constant(*number == 0 ? 1 : 0);
  }
  return elements;
}

Answer shape_elements(InferCall& call, size_t size) {
  const Shape shape = call.shape(0);
  if (!shape) return std::nullopt;
  const auto rank = static_cast<int64_t>(shape->size());
  int64_t start = call.node.get(attributes::Shape::start);
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  Elements result;
  for (size_t i = 0; i < size; ++i) {
    const auto element = call.module.dim_expression((*shape)[static_cast<size_t>(start) + i]);
    if (!element) return std::nullopt;
    result.push_back(*element);
  }
  return result;
}

Answer element_count(InferCall& call, size_t) {
  const Shape shape = call.shape(0);
  if (!shape) return std::nullopt;
  const auto count = call.module.dim_expression(call.math.product(*shape));
  return count ? Answer(Elements{*count}) : std::nullopt;
}

Answer gather(InferCall& call, size_t size) {
  const auto indices = call.integers(1);
  const auto* elements = call.value(0);
  if (!indices || elements == nullptr || indices->size() != size || call.input_type(0).rank() != 1)
    return std::nullopt;
  Elements result;
  for (int64_t index : *indices) {
    if (index < 0) index += static_cast<int64_t>(elements->size());
    if (index < 0 || index >= static_cast<int64_t>(elements->size())) return std::nullopt;
    result.push_back((*elements)[static_cast<size_t>(index)]);
  }
  return result;
}

Answer concat(InferCall& call, size_t size) {
  Elements result;
  for (size_t i = 0; i < call.input_count(); ++i) {
    const auto* elements = call.value(i);
    if (elements == nullptr) return std::nullopt;
    result.insert(result.end(), elements->begin(), elements->end());
  }
  return result.size() == size ? Answer(result) : std::nullopt;
}

Answer slice(InferCall& call, size_t size) {
  const auto starts = call.integers(1);
  const auto steps = call.has_input(4) ? call.integers(4) : std::vector<int64_t>{1};
  const auto* elements = call.value(0);
  if (size == 0) return Elements();
  if (!starts || !steps || elements == nullptr || starts->size() != 1 || steps->size() != 1)
    return std::nullopt;
  const auto length = static_cast<int64_t>(elements->size());
  const int64_t step = (*steps)[0];
  int64_t start = (*starts)[0] < 0 ? (*starts)[0] + length : (*starts)[0];
  start = std::clamp<int64_t>(start, 0, step > 0 ? length : length - 1);
  Elements result;
  for (size_t i = 0; i < size; ++i) {
    const int64_t index =
        start + static_cast<int64_t>(i) * std::clamp<int64_t>(step, -length - 1, length + 1);
    if (index < 0 || index >= length) return std::nullopt;
    result.push_back((*elements)[static_cast<size_t>(index)]);
  }
  return result;
}

Answer where(InferCall& call, size_t size) {
  const auto condition = call.integers(0);
  const auto* yes = call.value(1);
  const auto* no = call.value(2);
  if (yes == nullptr || no == nullptr) return std::nullopt;
  Elements result;
  for (size_t i = 0; i < size; ++i) {
    const auto pick = [&](const auto& list) { return list[list.size() == 1 ? 0 : i]; };
    const bool fits =
        (yes->size() == 1 || yes->size() == size) && (no->size() == 1 || no->size() == size);
    if (!fits || (condition && condition->size() != 1 && condition->size() != size))
      return std::nullopt;
    if (!condition && pick(*yes) != pick(*no)) return std::nullopt;
    result.push_back(!condition || pick(*condition) != 0 ? pick(*yes) : pick(*no));
  }
  return result;
}

Answer range(InferCall& call, size_t size) {
  const auto* start = call.value(0);
  const auto* step = call.value(2);
  if (start == nullptr || step == nullptr || start->size() != 1 || step->size() != 1)
    return std::nullopt;
  ExpressionTable& table = call.module.expressions;
  const ExpressionId first = start->front();
  const ExpressionId by = step->front();
  Elements result;
  if (!table.stays_small(ExpressionOp::kAdd, first, by)) return std::nullopt;
  for (size_t i = 0; i < size; ++i)
    result.push_back(table.add(first, table.multiply(by, table.constant(static_cast<int64_t>(i)))));
  return result;
}

Answer constant_of_shape(InferCall& call, size_t size) {
  ExpressionTable& table = call.module.expressions;
  if (!call.node.has(attributes::ConstantOfShape::value)) return Elements(size, table.constant(0));
  const SegmentId value = call.node.get(attributes::ConstantOfShape::value);
  if (value < 0) return std::nullopt;
  const auto elements = read_small_integers(call.module, value);
  return elements && elements->size() == 1
             ? Answer(Elements(size, table.constant(elements->front())))
             : std::nullopt;
}

Answer reduce_product(InferCall& call, size_t size) {
  const auto* elements = call.value(0);
  if (elements == nullptr || size != 1) return std::nullopt;
  ExpressionTable& table = call.module.expressions;
  const ExpressionOp op =
      call.node.op() == Op::kReduceSum ? ExpressionOp::kAdd : ExpressionOp::kMul;
  const Elements factors = *elements;
  std::optional<ExpressionId> result = table.constant(op == ExpressionOp::kAdd ? 0 : 1);
  for (const ExpressionId factor : factors) {
    result = make(call, op, *result, factor);
    if (!result) return std::nullopt;
  }
  return Elements{*result};
}

struct Row {
  Op op;
  Answer (*infer)(InferCall&, size_t size);
};

constexpr Row kValueRows[] = {
    {Op::kAdd, binary_values<arithmetic<ExpressionOp::kAdd>>},
    {Op::kAnd, binary_values<logic>},
    {Op::kCast, cast},
    {Op::kCastLike, cast},
    {Op::kCeil, same},
    {Op::kConcat, concat},
    {Op::kConstantOfShape, constant_of_shape},
    {Op::kDiv, binary_values<divide>},
    {Op::kEqual, binary_values<compare>},
    {Op::kExpand, spread},
    {Op::kFlatten, same},
    {Op::kFloor, same},
    {Op::kGather, gather},
    {Op::kGreater, binary_values<compare>},
    {Op::kGreaterOrEqual, binary_values<compare>},
    {Op::kIdentity, same},
    {Op::kLess, binary_values<compare>},
    {Op::kLessOrEqual, binary_values<compare>},
    {Op::kMax, binary_values<arithmetic<ExpressionOp::kMax>>},
    {Op::kMin, binary_values<arithmetic<ExpressionOp::kMin>>},
    {Op::kMod, binary_values<remainder>},
    {Op::kMul, binary_values<arithmetic<ExpressionOp::kMul>>},
    {Op::kNeg, negate},
    {Op::kNot, invert},
    {Op::kOr, binary_values<logic>},
    {Op::kRange, range},
    {Op::kReduceProd, reduce_product},
    {Op::kReduceSum, reduce_product},
    {Op::kReshape, same},
    {Op::kRound, same},
    {Op::kShape, shape_elements},
    {Op::kSize, element_count},
    {Op::kSlice, slice},
    {Op::kSqueeze, same},
    {Op::kSub, binary_values<subtract>},
    {Op::kSum, binary_values<arithmetic<ExpressionOp::kAdd>>},
    {Op::kUnsqueeze, same},
    {Op::kWhere, where},
    {Op::kXor, binary_values<logic>},
};
static_assert(std::is_sorted(std::begin(kValueRows), std::end(kValueRows),
                             [](const Row& a, const Row& b) { return a.op < b.op; }));

// Computes the facts of Split, one for each result.
void split(InferCall& call) {
  const auto* found = call.value(0);
  if (found == nullptr) return;
  const Elements elements = *found;
  size_t from = 0;
  for (size_t i = 0; i < call.node.output_count(); ++i) {
    const auto count = call.node.output(i).type().element_count();
    if (!count || static_cast<size_t>(*count) > elements.size() - from) return;
    const auto first = elements.begin() + static_cast<std::ptrdiff_t>(from);
    call.facts.set(call.node.output(i), Elements(first, first + *count));
    from += static_cast<size_t>(*count);
  }
}

// Returns true when every element that is a number is exact in the dtype of the result.
bool fits(const InferCall& call, const Elements& elements) {
  const DType dtype = call.node.output().type().dtype;
  if (dtype == DType::kI64 || dtype == DType::kBool || dtype == DType::kF64) return true;
  if (dtype != DType::kI32 && dtype != DType::kF32) return false;
  const int64_t limit = int64_t{1} << (dtype == DType::kI32 ? 31 : 24);
  return std::all_of(elements.begin(), elements.end(), [&](ExpressionId element) {
    const auto number = call.module.expressions.as_constant(element);
    return !number || (*number >= -limit && *number < limit);
  });
}

}  // namespace

void infer_values(InferCall& call) {
  if (call.node.op() == Op::kSplit) return split(call);
  const auto* row = std::lower_bound(std::begin(kValueRows), std::end(kValueRows), call.node.op(),
                                     [](const Row& a, Op b) { return a.op < b; });
  if (row == std::end(kValueRows) || row->op != call.node.op()) return;
  const auto size = result_size(call);
  if (!size) return;
  if (auto elements = row->infer(call, *size);
      elements && elements->size() == *size && fits(call, *elements)) {
    call.facts.set(call.node.output(), std::move(*elements));
  }
}

}  // namespace sluice
