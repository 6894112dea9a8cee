#include "stages/subgraph-optimize/engines/aicore/operand_sizes.h"

#include <algorithm>

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
  const Storage* storage = value.storage();
  const bool is_nhwc = storage != nullptr && storage->format == StorageFormat::kNhwc;
  const std::vector<Dim>& capacity =
      is_nhwc || append_axis(value) ? storage->dims : value.type().dims;
  std::vector<Extent> strides(capacity.size(), 1);
  for (size_t axis = capacity.size(); axis-- > 1;) {
    SLUICE_ASSIGN(const Extent extent, of(capacity[axis]));
    strides[axis - 1] = strides[axis] * extent;
  }
  if (is_nhwc) std::rotate(strides.begin() + 1, strides.end() - 1, strides.end());
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
