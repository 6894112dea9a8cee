#include "common/ops/value_bytes.h"

#include "common/ir/append_axis.h"
#include "common/ir/fixed.h"
#include "common/ir/limits.h"
#include "common/ir/value_storage.h"
#include "common/symbolic/nominal.h"

namespace sluice {

Dim value_bytes(const Value& value) {
  Module& module = value.graph().module();
  const Type& type = value.type();
  if (value.storage() != nullptr && (type.is_fixed() || row_axis(value)))
    return value.storage()->bytes;
  if (value.is_constant())
    return Dim::fixed(static_cast<int64_t>(module.segment(value.segment()).size));
  if (const auto bytes = type.dense_bytes()) return Dim::fixed(static_cast<int64_t>(*bytes));
  if (!has_computed_size(type)) return Dim::unknown();
  const int bits = dtype_bits(type.dtype);
  if (bits >= 8) return dense_bytes(module, type.dtype, type.dims);
  ExpressionTable& table = module.expressions;
  const auto elements = module.dim_expression(dense_bytes(module, DType::kU8, type.dims));
  if (!elements) return Dim::unknown();
  return module.make_dim(table.ceil_divide(*elements, table.constant(8 / bits)));
}

uint64_t nominal_bytes(const Value& value) {
  Module& module = value.graph().module();
  const auto bytes = module.dim_expression(value_bytes(value));
  return bytes ? static_cast<uint64_t>(nominal_value(module.expressions, *bytes)) : 0;
}

std::optional<uint64_t> max_bytes(const Module& module, const Dim& bytes) {
  if (bytes.is_unknown()) return std::nullopt;
  const int64_t largest =
      bytes.is_fixed() ? bytes.value
                       : module.expressions.bounds(static_cast<ExpressionId>(bytes.value)).high;
  if (largest < 0 || static_cast<uint64_t>(largest) > kMaxValueBytes) return std::nullopt;
  return static_cast<uint64_t>(largest);
}

}  // namespace sluice
