#include "common/loop/lower/operands.h"

namespace sluice::loop {

Result<InstructionId> number_at(Lowering& l, const Node& node, size_t input, size_t place) {
  const Value& value = *node.input(input);
  const DType dtype = register_dtype(value.type().dtype);
  if (const auto known = Lowering::reals(node, input)) return l.real(dtype, (*known)[place]);
  if (const auto known = Lowering::integers(node, input)) return l.integer(dtype, (*known)[place]);
  Index index = l.first(value);
  if (!index.empty()) index.back() = l.number(static_cast<int64_t>(place));
  return l.element(value, index);
}

Result<InstructionId> integer_at(Lowering& l, const Node& node, size_t input, size_t place) {
  if (const auto known = Lowering::integers(node, input))
    return l.integer(DType::kI64, (*known)[place]);
  SLUICE_ASSIGN(const InstructionId id, number_at(l, node, input, place));
  return l.cast(id, DType::kI64);
}

Result<InstructionId> real_at(Lowering& l, const Node& node, size_t input, size_t place) {
  if (const auto known = Lowering::reals(node, input)) return l.real(DType::kF64, (*known)[place]);
  SLUICE_ASSIGN(const InstructionId id, number_at(l, node, input, place));
  return l.cast(id, DType::kF64);
}

std::vector<Guard> within(Lowering& l, const Value& value, const Index& index,
                          const Index& extents) {
  std::vector<Guard> guards;
  for (size_t i = 0; i < index.size(); ++i) {
    const ExpressionId own = l.extent(value, i);
    if (l.table().bounds(l.table().subtract(own, extents[i])).low < 0)
      guards.push_back({index[i], own});
  }
  return guards;
}

}  // namespace sluice::loop
