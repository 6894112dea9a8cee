#include "stages/subgraph-optimize/engines/aicore/operand_sizes.h"

#include "common/ir/append_axis.h"
#include "common/ir/module.h"
#include "common/symbolic/nominal.h"

namespace sluice {

OperandSizes::OperandSizes(const Module& module, std::vector<const Type*> operands)
    : module_(module), operands_(std::move(operands)) {}

Result<Extent> OperandSizes::of(const Dim& dim) const {
  if (dim.is_fixed()) return Extent(dim.value);
  uint16_t symbol = 0;
  for (const Type* operand : operands_) {
    for (const Dim& other : operand->dims) {
      if (other == dim)
        return Extent::of_symbol(
            symbol, nominal_value(module_.expressions, static_cast<ExpressionId>(dim.value)));
      ++symbol;
    }
  }
  return make_error(
      ErrorCode::kInternal,
      "a kernel is to be made for the size {}, which none of its operands has",
      dim.is_unknown() ? "?" : module_.expressions.text(static_cast<ExpressionId>(dim.value)));
}

Result<std::vector<Extent>> OperandSizes::of(const Type& type) const {
  std::vector<Extent> extents;
  for (const Dim& dim : type.dims) {
    SLUICE_ASSIGN(Extent extent, of(dim));
    extents.push_back(std::move(extent));
  }
  return extents;
}

Result<std::vector<Extent>> OperandSizes::strides(const Value& value) const {
  const std::vector<Dim>& capacity = append_axis(value) ? value.storage()->dims : value.type().dims;
  std::vector<Extent> strides(capacity.size(), 1);
  for (size_t axis = capacity.size(); axis-- > 1;) {
    SLUICE_ASSIGN(const Extent extent, of(capacity[axis]));
    strides[axis - 1] = strides[axis] * extent;
  }
  return strides;
}

}  // namespace sluice
