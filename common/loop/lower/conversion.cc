// Cast, CastLike, BitCast.
#include "common/loop/lower/families.h"
#include "common/loop/lower/reasons.h"

namespace sluice::loop {
namespace {

// A result of 16 bits is rounded by the caller (Lowering::element).
Result<InstructionId> cast(Lowering& l, const Node& node, size_t, const Index& index) {
  SLUICE_ASSIGN(const InstructionId x, l.element(*node.input(0), index));
  return l.cast(x, register_dtype(node.output().type().dtype));
}

Result<InstructionId> bit_cast(Lowering& l, const Node& node, size_t, const Index& index) {
  SLUICE_ASSIGN(const InstructionId x, l.element(*node.input(0), index));
  return l.bit_cast(x, node.output().type().dtype);
}

// A 16-bit float is another number in registers.
std::string bit_cast_reason(const Node& node) {
  for (const DType dtype : {node.input(0)->type().dtype, node.output().type().dtype}) {
    if (register_dtype(dtype) != dtype || dtype == DType::kBool)
      return fmt::format("the bits of {}", dtype_name(dtype));
  }
  return {};
}

constexpr LoweringRow kRows[] = {
    {Op::kCast, nullptr, cast},
    {Op::kCastLike, nullptr, cast},
    {Op::kBitCast, bit_cast_reason, bit_cast},
};

}  // namespace

std::span<const LoweringRow> conversion_rows() { return kRows; }

}  // namespace sluice::loop
