// Elements of less than 8 bits, of which several lie in a byte.
#include "common/loop/lowering.h"

namespace sluice::loop {

// An element from memory, where the guards hold.
InstructionId Lowering::load_value(const Value& value, const Index& index,
                                   const std::vector<Guard>& guards, InstructionId otherwise) {
  const BufferId buffer = memory_of(value);
  const DType dtype = value.type().dtype;
  if (!is_packed(dtype)) return load(buffer, index, guards, otherwise);
  const ExpressionId place = flatten(index, extents(value));
  const ExpressionId byte = table().floor_divide(place, number(8 / dtype_bits(dtype)));
  const InstructionId bits = bits_of_byte(dtype, load(buffer, {byte}, guards, -1), place);
  return otherwise < 0 ? bits : guarded(guards, bits, otherwise);
}

// The bits of the packed element at a place, from the byte that contains it.
InstructionId Lowering::bits_of_byte(DType dtype, InstructionId byte, ExpressionId place) {
  const int bits = dtype_bits(dtype), count = 8 / bits;
  const ExpressionId own = table().modulo(place, number(count));
  const auto at = [&](int i) {
    const InstructionId low =
        i == 0 ? byte : scalar(ScalarOp::kShiftRight, byte, integer(DType::kU8, i * bits));
    return scalar(ScalarOp::kAnd, low, integer(DType::kU8, (1 << bits) - 1));
  };
  if (const auto known = table().as_constant(own)) return at(static_cast<int>(*known));
  InstructionId found = at(count - 1);
  for (int i = count - 2; i >= 0; --i) found = guarded({{own, number(i + 1)}}, at(i), found);
  return found;
}

// Computes an output of packed elements: at each point all elements of a byte. Bits after the last
// element are 0.
Result<void> Lowering::lower_packed(size_t output) {
  const Value& inside = inside_output(output);
  const int bits = dtype_bits(inside.type().dtype), count = 8 / bits;
  const Index extents = this->extents(inside);
  const ExpressionId limit = product(extents);
  const Index index = begin_nest({table().ceil_divide(limit, number(count))});
  InstructionId byte = -1;
  for (int i = 0; i < count; ++i) {
    const ExpressionId place = table().add(table().multiply(index[0], number(count)), number(i));
    std::vector<Guard> guards;
    if (i > 0) guards.push_back({place, limit});
    SLUICE_ASSIGN(InstructionId own, element_if(inside, unflatten(place, extents), guards));
    if (i > 0) own = scalar(ScalarOp::kShiftLeft, own, integer(DType::kU8, i * bits));
    byte = i == 0 ? own : scalar(ScalarOp::kOr, byte, own);
  }
  nest().sweeps.back().stores.push_back({{buffers_.at(&inside), index}, byte, {}});
  return {};
}

}  // namespace sluice::loop
