// Cast, CastLike, BitCast.
#include "common/loop/lower/families.h"
#include "common/loop/lower/narrow.h"
#include "common/loop/lower/reasons.h"
#include "common/ops/attributes.h"
#include "common/ops/narrowing.h"

namespace sluice::loop {
namespace {

// A result of 16 bits is rounded by the caller (Lowering::element). Floats become integers by
// truncation, those of 4 and 2 bits by rounding half to even.
Result<InstructionId> cast(Lowering& l, const Node& node, size_t, const Index& index) {
  const DType from = node.input(0)->type().dtype, to = node.output().type().dtype;
  if (from == to) return l.element(*node.input(0), index);
  // f32 has no normal number for the least one of E8M0.
  const bool is_wide = from == DType::kF8E8M0 && register_dtype(to) != DType::kF32;
  SLUICE_ASSIGN(InstructionId x,
                number_of_element(l, *node.input(0), index,
                                  is_wide || to == DType::kF64 ? DType::kF64 : DType::kF32));
  if (dtype_is_integer(to) && dtype_bits(to) < 8 && dtype_is_float(l.dtype_of(x)))
    x = l.scalar(ScalarOp::kRound, x);
  return is_narrow(to) ? narrowed(l, to, x, narrowing_of(node)) : l.cast(x, register_dtype(to));
}

Result<InstructionId> bit_cast(Lowering& l, const Node& node, size_t, const Index& index) {
  SLUICE_ASSIGN(const InstructionId x, l.element(*node.input(0), index));
  return l.bit_cast(x, register_dtype(node.output().type().dtype));
}

// A 16-bit float is another number in registers.
std::string bit_cast_reason(const Node& node) {
  for (const DType dtype : {node.input(0)->type().dtype, node.output().type().dtype}) {
    if (dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kBool)
      return fmt::format("the bits of {}", dtype_name(dtype));
  }
  return {};
}

constexpr LoweringRow kConversionRows[] = {
    {Op::kCast, nullptr, cast, nullptr, ElementKinds::kNumbersAndNarrow},
    {Op::kCastLike, nullptr, cast, nullptr, ElementKinds::kNumbersAndNarrow},
    {Op::kBitCast, bit_cast_reason, bit_cast, nullptr, ElementKinds::kNumbersAndNarrow},
};

}  // namespace

std::span<const LoweringRow> conversion_rows() { return kConversionRows; }

}  // namespace sluice::loop
