#include "common/loop/testing/random_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace sluice::loop {
namespace {

constexpr double kWrapped = std::numeric_limits<double>::infinity();

// How a function of floats is called: what its argument is made of x, so that it lies where the
// function is smooth, the largest slope there, and the bound of the result (0: that of the
// argument).
struct FunctionRow {
  ScalarOp op;
  int argument;  // see ValueMaker::argument
  double slope;
  double bound;
};

enum : int { kAny, kClipped, kMagnitude, kAboveOne, kAboveTwo, kHalfSine };

constexpr FunctionRow kFunctions[] = {
    {ScalarOp::kExp, kClipped, 55, 55},
    {ScalarOp::kExpm1, kClipped, 55, 55},
    {ScalarOp::kSinh, kClipped, 28, 28},
    {ScalarOp::kCosh, kClipped, 28, 28},
    {ScalarOp::kSigmoid, kAny, 0.25, 1},
    {ScalarOp::kTanh, kAny, 1, 1},
    {ScalarOp::kErf, kAny, 1.2, 1},
    {ScalarOp::kSin, kAny, 1, 1},
    {ScalarOp::kCos, kAny, 1, 1},
    {ScalarOp::kAtan, kAny, 1, 1.6},
    {ScalarOp::kAsinh, kAny, 1, 0},
    {ScalarOp::kLog1p, kMagnitude, 1, 0},
    {ScalarOp::kLog, kAboveOne, 1, 0},
    {ScalarOp::kSqrt, kAboveOne, 0.5, 0},
    {ScalarOp::kReciprocal, kAboveOne, 1, 1},
    {ScalarOp::kAcosh, kAboveTwo, 0.6, 0},
    {ScalarOp::kAsin, kHalfSine, 1.2, 1},
    {ScalarOp::kAcos, kHalfSine, 1.2, 3},
    {ScalarOp::kAtanh, kHalfSine, 1.4, 1},
    {ScalarOp::kTan, kHalfSine, 1.4, 1},
};

constexpr double kFunctionUlps = 8;

// The largest magnitude that both signs have; of unsigned dtypes the largest.
double limit_of(DType dtype) {
  return std::ldexp(1.0, number_bits(dtype) - (dtype_is_signed(dtype) ? 1 : 0)) - 1;
}

Known wrapping(Known value) {
  if (!(value.bound <= limit_of(value.dtype))) value.bound = kWrapped;  // also of 0 * infinity
  return value;
}

}  // namespace

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-52;
    case DType::kF16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

Known rounded(Known value) {
  const double epsilon = epsilon_of(value.dtype);
  const bool fits = std::ldexp(value.bound, value.fraction) <= 1 / epsilon;
  if (value.error > 0 || !fits) value.error += value.bound * epsilon;
  return value;
}

// ---- instructions

InstructionId ValueMaker::append(Instruction instruction) {
  const auto id = static_cast<InstructionId>(nest_.instructions.size());
  nest_.instructions.push_back(std::move(instruction));
  nest_.sweeps.back().instructions.push_back(id);
  return id;
}

InstructionId ValueMaker::scalar(ScalarOp op, DType dtype, std::vector<InstructionId> operands) {
  Instruction instruction;
  instruction.kind = InstructionKind::kScalar;
  instruction.op = op;
  instruction.dtype = dtype;
  std::copy(operands.begin(), operands.end(), instruction.operands.begin());
  return append(std::move(instruction));
}

Known ValueMaker::constant(DType dtype, double value) {
  Instruction instruction;
  instruction.dtype = dtype;
  if (dtype == DType::kF32) {
    instruction.bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  } else if (dtype == DType::kF64) {
    instruction.bits = std::bit_cast<uint64_t>(value);
  } else {
    const int width = number_bits(dtype);
    instruction.bits = static_cast<uint64_t>(static_cast<int64_t>(value));
    if (width < 64) instruction.bits &= (uint64_t{1} << width) - 1;
  }
  return {append(std::move(instruction)), dtype, std::abs(value), 0, kInputFraction};
}

Known ValueMaker::random_constant(DType dtype) {
  if (is_real(dtype)) return constant(dtype, static_cast<double>(dice_.pick(-16, 16)) / 8);
  if (dtype == DType::kBool) return constant(dtype, static_cast<double>(dice_.pick(0, 1)));
  const int64_t low = dtype_is_signed(dtype) ? -9 : 0;
  return constant(dtype, static_cast<double>(dice_.pick(low, 9)));
}

Known ValueMaker::extreme_constant(DType dtype, bool is_largest) {
  if (is_real(dtype)) return constant(dtype, is_largest ? HUGE_VAL : -HUGE_VAL);
  Known made = constant(dtype, 0);
  const int width = number_bits(dtype);
  const uint64_t all = ~uint64_t{0} >> (64 - width);
  const uint64_t sign = dtype_is_signed(dtype) ? uint64_t{1} << (width - 1) : 0;
  nest_.instructions[static_cast<size_t>(made.id)].bits = is_largest ? all ^ sign : sign;
  return made;
}

Known ValueMaker::clipped(const Known& value, double limit) {
  if (value.bound <= limit) return value;
  const Known low = constant(value.dtype, -limit), high = constant(value.dtype, limit);
  const InstructionId raised = scalar(ScalarOp::kMax, value.dtype, {value.id, low.id});
  Known result = value;
  result.id = scalar(ScalarOp::kMin, value.dtype, {raised, high.id});
  result.bound = limit;
  result.fraction = std::max(value.fraction, kInputFraction);
  return result;
}

// ---- floats

Known ValueMaker::make_sum(DType dtype) {
  const Known a = choose(dtype), b = choose(dtype);
  const int64_t which = dice_.pick(0, 2);
  Known result{-1, dtype, a.bound + b.bound, a.error + b.error, std::max(a.fraction, b.fraction)};
  if (which == 2) {
    result.bound = a.bound * b.bound;
    result.error = a.error * b.bound + b.error * a.bound + a.error * b.error;
    result.fraction = a.fraction + b.fraction;
  }
  constexpr ScalarOp kOps[] = {ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul};
  result.id = scalar(kOps[which], dtype, {a.id, b.id});
  return rounded(result);
}

Known ValueMaker::make_extreme(DType dtype) {
  const Known a = choose(dtype), b = choose(dtype);
  if (dice_.chance(40)) {
    Known result = a;
    result.id = scalar(dice_.chance(50) ? ScalarOp::kNeg : ScalarOp::kAbs, dtype, {a.id});
    return result;
  }
  const ScalarOp op = dice_.chance(50) ? ScalarOp::kMax : ScalarOp::kMin;
  return {scalar(op, dtype, {a.id, b.id}), dtype, std::max(a.bound, b.bound),
          std::max(a.error, b.error), std::max(a.fraction, b.fraction)};
}

// a / (|b| + 1)
Known ValueMaker::make_quotient(DType dtype) {
  const Known a = choose(dtype), b = argument(choose(dtype), kAboveOne);
  Known result{scalar(ScalarOp::kDiv, dtype, {a.id, b.id}), dtype, a.bound, 0, 0};
  result.error = a.error + a.bound * b.error + 2 * a.bound * epsilon_of(dtype);
  return result;
}

Known ValueMaker::argument(const Known& x, int kind) {
  if (kind == kAny) return clipped(x, 64);
  if (kind == kClipped) return clipped(x, 4);
  Known result = x;
  if (kind == kHalfSine) {
    result = clipped(x, 64);
    result.error += 64 * kFunctionUlps * epsilon_of(x.dtype);
    result.bound = 1;
    const InstructionId sine = scalar(ScalarOp::kSin, x.dtype, {result.id});
    result.id = scalar(ScalarOp::kMul, x.dtype, {sine, constant(x.dtype, 0.5).id});
    return result;
  }
  result.id = scalar(ScalarOp::kAbs, x.dtype, {x.id});
  if (kind == kMagnitude) return result;
  const Known more = constant(x.dtype, kind == kAboveOne ? 1 : 2);
  result.id = scalar(ScalarOp::kAdd, x.dtype, {result.id, more.id});
  result.bound += more.bound;
  result.fraction = std::max(x.fraction, more.fraction);
  return rounded(result);
}

Known ValueMaker::make_function(DType dtype) {
  const FunctionRow& row = kFunctions[dice_.pick(0, std::ssize(kFunctions) - 1)];
  const Known x = argument(choose(dtype), row.argument);
  Known result{scalar(row.op, dtype, {x.id}), dtype, row.bound == 0 ? x.bound : row.bound, 0, 0};
  result.error = row.slope * x.error +
                 kFunctionUlps * epsilon_of(dtype) * std::max(result.bound, row.slope * x.bound);
  return result;
}

// (|a| + 1)^b with |a| <= 8 and |b| <= 2
Known ValueMaker::make_power(DType dtype) {
  const Known base = argument(clipped(choose(dtype), 8), kAboveOne);
  const Known exponent = clipped(choose(dtype), 2);
  Known result{scalar(ScalarOp::kPow, dtype, {base.id, exponent.id}), dtype, 81, 0, 0};
  result.error = 81 * (2 * base.error + 2.2 * exponent.error + kFunctionUlps * epsilon_of(dtype));
  return result;
}

// Functions with steps, of numbers without errors.
Known ValueMaker::make_step(DType dtype) {
  constexpr ScalarOp kOps[] = {ScalarOp::kFloor, ScalarOp::kCeil,        ScalarOp::kRound,
                               ScalarOp::kSign,  ScalarOp::kRoundToHalf, ScalarOp::kRoundToBfloat};
  Known x = choose_exact(dtype);
  const ScalarOp op = kOps[dice_.pick(0, dtype == DType::kF32 ? 5 : 3)];
  if (op == ScalarOp::kRoundToHalf) x = clipped(x, 1024);
  Known result = x;
  result.id = scalar(op, dtype, {x.id});
  result.bound = std::ceil(x.bound * 1.01);
  return result;
}

std::optional<Known> ValueMaker::make_real(DType dtype) {
  switch (dice_.pick(0, 7)) {
    case 0:
      return make_extreme(dtype);
    case 1:
      return make_quotient(dtype);
    case 2:
    case 3:
      return make_function(dtype);
    case 4:
      return dice_.chance(70) ? make_step(dtype) : make_power(dtype);
    default:
      return make_sum(dtype);
  }
}

// ---- integers

Known ValueMaker::make_integer(DType dtype) {
  constexpr ScalarOp kOps[] = {
      ScalarOp::kAdd,  ScalarOp::kMul, ScalarOp::kMax,       ScalarOp::kMin,       ScalarOp::kAbs,
      ScalarOp::kSign, ScalarOp::kSub, ScalarOp::kNeg,       ScalarOp::kAnd,       ScalarOp::kOr,
      ScalarOp::kXor,  ScalarOp::kNot, ScalarOp::kShiftLeft, ScalarOp::kShiftRight};
  const Known a = choose(dtype), b = choose(dtype);
  const int64_t which = dice_.pick(0, std::ssize(kOps) - 1);
  const ScalarOp op = kOps[which];
  Known result{-1, dtype, std::max(a.bound, b.bound), 0, 0};
  if (op == ScalarOp::kAdd) result.bound = a.bound + b.bound;
  if (op == ScalarOp::kMul) result.bound = a.bound * b.bound;
  if (op == ScalarOp::kSign) result.bound = 1;
  if (which >= 6) result.bound = kWrapped;
  result.id =
      scalar_row(op).operands == 1 ? scalar(op, dtype, {a.id}) : scalar(op, dtype, {a.id, b.id});
  return wrapping(result);
}

// Divides by odd numbers.
Known ValueMaker::make_division(DType dtype) {
  constexpr ScalarOp kOps[] = {ScalarOp::kDiv, ScalarOp::kFloorMod, ScalarOp::kRemainder};
  const Known a = choose(dtype), b = choose(dtype);
  const InstructionId odd = scalar(ScalarOp::kOr, dtype, {b.id, constant(dtype, 1).id});
  return {scalar(kOps[dice_.pick(0, 2)], dtype, {a.id, odd}), dtype, kWrapped, 0, 0};
}

Known ValueMaker::make_bits(DType dtype) {
  constexpr ScalarOp kOps[] = {ScalarOp::kAnd, ScalarOp::kOr, ScalarOp::kXor};
  const Known a = choose(dtype), b = choose(dtype);
  if (dice_.chance(25)) return {scalar(ScalarOp::kNot, dtype, {a.id}), dtype, 1, 0, 0};
  return {scalar(kOps[dice_.pick(0, 2)], dtype, {a.id, b.id}), dtype, 1, 0, 0};
}

// ---- any dtype

Known ValueMaker::make_comparison() {
  constexpr ScalarOp kOps[] = {ScalarOp::kLess, ScalarOp::kLessOrEqual, ScalarOp::kEqual};
  const DType dtype = any_dtype();
  const Known a = choose_exact(dtype), b = choose_exact(dtype);
  return {scalar(kOps[dice_.pick(0, 2)], DType::kBool, {a.id, b.id}), DType::kBool, 1, 0, 0};
}

Known ValueMaker::make_select(DType dtype) {
  const Known condition = choose(DType::kBool), a = choose(dtype), b = choose(dtype);
  return {scalar(ScalarOp::kSelect, dtype, {condition.id, a.id, b.id}), dtype,
          std::max(a.bound, b.bound), std::max(a.error, b.error), std::max(a.fraction, b.fraction)};
}

Known ValueMaker::cast_integer(const Known& from, DType to) {
  Known result{scalar(ScalarOp::kCast, to, {from.id}), to, from.bound, 0, 0};
  if (to == DType::kBool) result.bound = 1;
  if (dtype_is_signed(from.dtype) && !dtype_is_signed(to)) result.bound = kWrapped;
  return wrapping(result);
}

Known ValueMaker::cast_to_real(const Known& from, DType to) {
  Known result = from;
  result.id = scalar(ScalarOp::kCast, to, {from.id});
  result.dtype = to;
  return rounded(result);
}

// Nothing when the value has an error.
std::optional<Known> ValueMaker::cast_real(const Known& from, DType to) {
  if (is_real(to)) return cast_to_real(from, to);
  if (from.error > 0) return std::nullopt;
  Known result{scalar(ScalarOp::kCast, to, {from.id}), to, from.bound, 0, 0};
  if (to == DType::kBool) result.bound = 1;
  if (!dtype_is_signed(to)) result.bound = kWrapped;
  return wrapping(result);
}

std::optional<Known> ValueMaker::make_cast() {
  const Known from = choose(any_dtype());
  const DType to = any_dtype();
  if (from.dtype == to) return std::nullopt;
  if (is_real(from.dtype)) return cast_real(from, to);
  const bool is_same_width = to != DType::kBool && from.dtype != DType::kBool && !is_real(to) &&
                             dtype_bits(to) == dtype_bits(from.dtype);
  if (is_same_width && dice_.chance(50))
    return Known{scalar(ScalarOp::kBitCast, to, {from.id}), to, kWrapped, 0, 0};
  if (!is_real(to)) return cast_integer(from, to);
  if (from.bound > 0x1p20) return std::nullopt;
  Known whole = from;
  whole.fraction = 0;
  return cast_to_real(whole, to);
}

// A dtype of the pool, or another one.
DType ValueMaker::any_dtype() {
  static const std::vector<DType> kAll = {DType::kF32, DType::kF64, DType::kI8,  DType::kI16,
                                          DType::kI32, DType::kI64, DType::kU8,  DType::kU16,
                                          DType::kU32, DType::kU64, DType::kBool};
  return pool_.empty() || dice_.chance(8) ? dice_.one_of(kAll) : dice_.one_of(pool_).dtype;
}

void ValueMaker::add_random() {
  const DType dtype = any_dtype();
  std::optional<Known> made;
  switch (dice_.pick(0, 9)) {
    case 0:
      made = make_select(dtype);
      break;
    case 1:
    case 2:
      made = make_cast();
      break;
    case 3:
      made = make_comparison();
      break;
    default:
      if (is_real(dtype)) {
        made = make_real(dtype);
      } else if (dtype == DType::kBool) {
        made = make_bits(dtype);
      } else {
        made = dice_.chance(25) ? make_division(dtype) : make_integer(dtype);
      }
  }
  if (!made) return;
  if (is_real(made->dtype)) made = clipped(*made, 0x1p14);
  const bool is_useful = made->error <= 1e-3 * std::max(made->bound, 1.0);
  if (is_useful) pool_.push_back(*made);
}

}  // namespace sluice::loop
