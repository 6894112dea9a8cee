#include "stages/subgraph-optimize/engines/aicore/operand_sizes.h"

#include "common/ir/growth.h"
#include "common/ir/module.h"
#include "common/symbolic/nominal.h"

namespace sluice {

OperandSizes::OperandSizes(const Module& module, std::vector<const Type*> operands) : module_(module), operands_(std::move(operands)) {}

Extent OperandSizes::of(const Dim& dim) const {
  if (dim.is_fixed()) return dim.value;
  uint16_t symbol = 0;
  for (const Type* operand : operands_) {
    for (const Dim& other : operand->dims) {
      if (other == dim) return Extent::of_symbol(symbol, nominal_value(module_.expressions, static_cast<ExpressionId>(dim.value)));
      ++symbol;
    }
  }
  return 1;  // not reached: dims of specifications are those of operands
}

std::vector<Extent> OperandSizes::of(const Type& type) const {
  std::vector<Extent> extents;
  for (const Dim& dim : type.dims) extents.push_back(of(dim));
  return extents;
}

std::vector<Extent> OperandSizes::strides(const Value& value) const {
  const std::vector<Dim>& room = growth_axis(value) ? value.storage()->dims : value.type().dims;
  std::vector<Extent> strides(room.size(), 1);
  for (size_t axis = room.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * of(room[axis]);
  return strides;
}

}  // namespace sluice
