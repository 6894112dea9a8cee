// Conversions between real numbers and integers of 2 to 32 bits or floats of 4 and 8 bits.
#include "common/ops/quantization.h"

#include <algorithm>

#include "common/loop/lower/families.h"
#include "common/loop/lower/narrow.h"
#include "common/loop/lower/scalars.h"
#include "common/ops/attributes.h"

namespace sluice::loop {
namespace {

// The element of a scale or zero point for element `index` of x: one for all, one per index of an
// axis, or one per block along it.
Result<Id> parameter(Lowering& l, const Node& node, size_t input, const Index& index, DType real) {
  const Value& value = *node.input(input);
  const std::vector<Dim>& dims = value.type().dims;
  const int64_t block = node.get(attributes::DequantizeLinear::block_size);
  Index own(dims.size(), l.number(0));
  if (!index.empty() && (block > 0 || dims.size() == 1)) {
    const size_t axis =
        Lowering::axis_of(node.get(attributes::DequantizeLinear::axis), index.size());
    if (block == 0) {
      if (dims[0] != Dim::fixed(1)) own[0] = index[axis];
    } else if (dims.size() == index.size()) {
      own = index;
      own[axis] = l.table().floor_divide(index[axis], l.number(block));
    }
  }
  return number_of_element(l, value, own, real);
}

// Integers of at most 16 bits, their sums and their quotients need no more than f32.
bool is_short(DType dtype) { return dtype_is_integer(dtype) && dtype_bits(dtype) <= 16; }

// Returns true when a zero point is absent or known to be 0.
bool has_no_shift(const Node& node) {
  if (node.input(2) == nullptr) return true;
  const auto known = Lowering::reals(node, 2);
  return known && std::ranges::all_of(*known, [](double zero) { return zero == 0; });
}

// ---- QuantizeLinear

// x / scale, rounded to f32 whatever the dtypes are, and to what ratio_dtype says. A scale of E8M0
// may be less than the least normal f32.
Result<Id> ratio(Lowering& l, const Node& node, const Index& index) {
  SLUICE_ASSIGN(Id x, l.element(*node.input(0), index));
  const bool is_wide = node.input(1)->type().dtype == DType::kF8E8M0;
  const DType real = is_wide ? DType::kF64 : DType::kF32;
  SLUICE_ASSIGN(const Id scale, parameter(l, node, 1, index, real));
  if (dtype_bits(l.dtype_of(x)) == 64) x = l.cast(x, DType::kF64);
  x = l.cast(l.cast(x, DType::kF32), real);
  const Id quotient = l.cast(div(l, x, l.cast(l.cast(scale, DType::kF32), real)), DType::kF32);
  const DType dtype = ratio_dtype(node);
  if (dtype == DType::kF32) return quotient;
  return l.scalar(dtype == DType::kF16 ? ScalarOp::kRoundToHalf : ScalarOp::kRoundToBfloat,
                  quotient);
}

// Computes x / scale + zero point as a float of 8 or 4 bits.
Result<Id> quantize_to_float(Lowering& l, const Node& node, const Index& index) {
  SLUICE_ASSIGN(Id y, ratio(l, node, index));
  if (!has_no_shift(node)) {
    SLUICE_ASSIGN(const Id zero, parameter(l, node, 2, index, DType::kF64));
    y = add(l, l.cast(y, DType::kF64), zero);
  }
  return narrowed(l, node.output().type().dtype, y,
                  {.saturate = node.get(attributes::QuantizeLinear::saturate) != 0});
}

Id clamp(Lowering& l, Id x, Id low, Id high) {
  return l.scalar(ScalarOp::kMin, l.scalar(ScalarOp::kMax, x, low), high);
}

// The same as saturated_steps, for integers of 32 bits, which f64 can hold.
Id wide_steps(Lowering& l, Id steps, std::optional<Id> zero, DType to) {
  Id y = l.scalar(ScalarOp::kRound, steps);
  y = select(l, l.scalar(ScalarOp::kEqual, y, y), y, l.real(DType::kF32, 0));
  y = l.cast(y, DType::kF64);
  if (zero) y = add(l, y, l.cast(*zero, DType::kF64));
  const double low = dtype_is_signed(to) ? -0x1p31 : 0;
  y = clamp(l, y, l.real(DType::kF64, low), l.real(DType::kF64, low + 0x1p32 - 1));
  return l.cast(l.cast(y, DType::kI64), to);
}

// Computes clamp(round(x / scale) + zero point).
Result<Id> quantize(Lowering& l, const Node& node, size_t, const Index& index) {
  const DType to = node.output().type().dtype;
  if (dtype_is_float(to)) return quantize_to_float(l, node, index);
  SLUICE_ASSIGN(const Id steps, ratio(l, node, index));
  std::optional<Id> zero;
  if (node.input(2) != nullptr) {
    SLUICE_ASSIGN(zero, parameter(l, node, 2, index, DType::kF32));
  }
  return is_short(to) ? saturated_steps(l, steps, zero, to) : wide_steps(l, steps, zero, to);
}

std::string quantize_reason(const Node& node) {
  const DType to = node.output().type().dtype;
  if (is_narrow(node.input(0)->type().dtype))
    return fmt::format("{} to be quantized", dtype_name(node.input(0)->type().dtype));
  const bool is_known = is_narrow(to) || (dtype_is_integer(to) && dtype_bits(to) <= 32);
  return is_known ? std::string()
                  : fmt::format(
                        "quantized to {}, only integers of 2 to 32 bits and floats of 4 "
                        "and 8 bits",
                        dtype_name(to));
}

// ---- DequantizeLinear

// Returns whether (x - zero point) * scale needs f64: the difference of integers of 32 bits or of
// floats, and the least scale of E8M0, which is no normal f32.
bool needs_wide(const Node& node) {
  const DType from = node.input(0)->type().dtype, scale = node.input(1)->type().dtype;
  const bool is_exact = is_short(from) || (dtype_is_float(from) && has_no_shift(node));
  return !is_exact || from == DType::kF8E8M0 || scale == DType::kF8E8M0 || scale == DType::kF64 ||
         node.output().type().dtype == DType::kF64;
}

// Computes (x - zero point) * scale.
Result<Id> dequantize(Lowering& l, const Node& node, size_t, const Index& index) {
  const DType to = register_dtype(node.output().type().dtype);
  const DType wide = needs_wide(node) ? DType::kF64 : DType::kF32;
  SLUICE_ASSIGN(Id x, number_of_element(l, *node.input(0), index, wide));
  SLUICE_ASSIGN(const Id scale, parameter(l, node, 1, index, wide));
  x = l.cast(x, wide);
  if (!has_no_shift(node)) {
    SLUICE_ASSIGN(const Id zero, parameter(l, node, 2, index, wide));
    x = sub(l, x, l.cast(zero, wide));
  }
  return l.cast(mul(l, x, l.cast(scale, wide)), to);
}

std::string dequantize_reason(const Node& node) {
  const DType from = node.input(0)->type().dtype, to = node.output().type().dtype;
  const bool is_known = dtype_is_integer(from) || is_narrow(from);
  if (!is_known || !dtype_is_float(to) || is_narrow(to))
    return fmt::format("{} as quantized {}", dtype_name(from), dtype_name(to));
  return {};
}

// ---- DynamicQuantizeLinear

// The range of all elements and 0; NaN counts as 0.
struct Extent {
  Id low;
  Id high;
};
Result<Extent> accumulate_extent(Lowering& l, const Value& x, const Index& extents) {
  const Index index = l.begin_sweep(extents);
  const Id zero = l.real(DType::kF32, 0);
  SLUICE_ASSIGN(Id element, l.element(x, index));
  element = select(l, l.scalar(ScalarOp::kEqual, element, element), element, zero);
  const AccumulatorId low = l.accumulate(Combine::kMin, zero, element);
  const AccumulatorId high = l.accumulate(Combine::kMax, zero, element);
  l.begin_sweep({});
  return Extent{l.value_of(low), l.value_of(high)};
}

Id to_byte(Lowering& l, Id number) { return l.cast(l.cast(number, DType::kI32), DType::kU8); }

// One nest, since the second sweep needs the first one's range.
Result<void> dynamic_quantize(Lowering& l, const Node& node) {
  const Value& x = *node.input(0);
  const Index extents = l.extents(x);
  l.begin_nest({});
  SLUICE_ASSIGN(const Extent extent, accumulate_extent(l, x, extents));
  const Id zero = l.real(DType::kF32, 0), top = l.real(DType::kF32, 255);
  const Id scale = select(l, l.scalar(ScalarOp::kEqual, extent.high, extent.low),
                          l.real(DType::kF32, 1), div(l, sub(l, extent.high, extent.low), top));
  const Id shift =
      l.scalar(ScalarOp::kRound, clamp(l, sub(l, zero, div(l, extent.low, scale)), zero, top));
  SLUICE_TRY(l.give(node, 1, {}, scale));
  SLUICE_TRY(l.give(node, 2, {}, to_byte(l, shift)));
  if (!l.is_wanted(node, 0)) return {};
  const Index index = l.begin_sweep(extents);
  SLUICE_ASSIGN(const Id element, l.element(x, index));
  const Id y = add(l, l.scalar(ScalarOp::kRound, div(l, element, scale)), shift);
  const Id bottom = l.real(DType::kF32, 0), limit = l.real(DType::kF32, 255);
  const Id raised = select(l, l.scalar(ScalarOp::kLess, bottom, y), y, bottom);  // NaN becomes 0
  return l.give(node, 0, index, to_byte(l, l.scalar(ScalarOp::kMin, raised, limit)));
}

constexpr LoweringRow kQuantizationRows[] = {
    {Op::kQuantizeLinear, quantize_reason, quantize, nullptr, ElementKinds::kNumbersAndNarrow},
    {Op::kDequantizeLinear, dequantize_reason, dequantize, nullptr,
     ElementKinds::kNumbersAndNarrow},
    {Op::kDynamicQuantizeLinear, nullptr, nullptr, dynamic_quantize},
};

}  // namespace

std::span<const LoweringRow> quantization_rows() { return kQuantizationRows; }

}  // namespace sluice::loop
