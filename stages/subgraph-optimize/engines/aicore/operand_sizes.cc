#include "stages/subgraph-optimize/engines/aicore/operand_sizes.h"

#include <algorithm>

#include "common/ir/append_axis.h"
#include "common/ir/module.h"
#include "common/ir/value_storage.h"
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
  const StorageMap map = storage_map_of(value);
  const std::vector<Dim>& extents =
      value.storage() == nullptr ? value.type().dims : value.storage()->dims;
  std::vector<Extent> strides(value.type().dims.size(), 1);
  Extent stride = 1;
  for (size_t i = map.size(); i-- > 0;) {
    if (map[i].divisor != 1 || map[i].modulus != 0)
      return make_error(ErrorCode::kNotLowerable,
                        "'{}' is stored in blocks, which no contraction "
                        "reads",
                        value.name());
    strides[static_cast<size_t>(map[i].dim)] = stride;
    SLUICE_ASSIGN(const Extent extent, of(extents[i]));
    stride = stride * extent;
  }
  return strides;
}

Result<std::vector<Extent>> OperandSizes::walked_strides(const loop::EpilogueRead& read,
                                                         const Value& value) const {
  SLUICE_ASSIGN(const std::vector<Extent> own, strides(value));
  std::vector<Extent> walked;
  for (const std::optional<size_t>& axis : read.axes) walked.push_back(axis ? own[*axis] : 0);
  return walked;
}

std::optional<Extent> joined_stride(const std::vector<Extent>& dims,
                                    const std::vector<Extent>& strides, size_t first, size_t last) {
  std::optional<Extent> joined;
  Extent next;
  for (size_t axis = last; axis-- > first;) {
    if (dims[axis].is_fixed_at(1)) continue;
    if (joined && strides[axis] != next) return std::nullopt;
    if (!joined) joined = strides[axis];
    next = strides[axis] * dims[axis];
  }
  return joined ? joined : Extent(0);
}

}  // namespace sluice
