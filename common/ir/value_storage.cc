#include "common/ir/value_storage.h"

#include <algorithm>

#include "common/ir/append_axis.h"
#include "common/ir/module.h"

namespace sluice {
namespace {

Dim stored_extent(Module& module, const StoredAxis& axis, const Dim& dim) {
  if (axis.modulus > 0) return Dim::fixed(axis.modulus);
  if (axis.divisor == 1) return dim;
  ExpressionTable& table = module.expressions;
  return module.make_dim(table.ceil_divide(
      dim.is_fixed() ? table.constant(dim.value) : static_cast<ExpressionId>(dim.value),
      table.constant(axis.divisor)));
}

}  // namespace

StorageMap storage_map_of(const Value& value) {
  return value.storage() == nullptr ? dense_map(value.type().dims.size()) : value.storage()->map;
}

bool is_stored_dense(const Value& value) {
  return value.storage() == nullptr || value.storage()->map == dense_map(value.type().dims.size());
}

bool has_formats(const Type& type) {
  if (!type.is_tensor() || !type.ranked || type.rank() < 3) return false;
  const auto is_one = [](const Dim& dim) { return dim == Dim::fixed(1); };
  return !is_one(type.dims[1]) && !std::all_of(type.dims.begin() + 2, type.dims.end(), is_one);
}

void store(Value& value, const StorageMap& map) {
  const Type& type = value.type();
  if (!has_formats(type) || map == dense_map(type.dims.size())) return value.set_storage(-1);
  Module& module = value.graph().module();
  Storage storage;
  storage.map = map;
  for (const StoredAxis& axis : map)
    storage.dims.push_back(stored_extent(module, axis, type.dims[static_cast<size_t>(axis.dim)]));
  storage.bytes = dense_bytes(module, type.dtype, storage.dims);
  value.set_storage(module.intern(storage));
}

}  // namespace sluice
