#include "common/ir/value_storage.h"

#include <algorithm>

#include "common/ir/append_axis.h"
#include "common/ir/module.h"

namespace sluice {

StorageFormat format_of(const Value& value) {
  return value.storage() == nullptr ? StorageFormat::kDense : value.storage()->format;
}

std::string_view format_name(StorageFormat format) {
  return format == StorageFormat::kNhwc ? "nhwc" : "dense";
}

bool has_formats(const Type& type) {
  if (!type.is_tensor() || !type.ranked || type.rank() < 3) return false;
  const auto is_one = [](const Dim& dim) { return dim == Dim::fixed(1); };
  return !is_one(type.dims[1]) && !std::all_of(type.dims.begin() + 2, type.dims.end(), is_one);
}

void store(Value& value, StorageFormat format) {
  const Type& type = value.type();
  if (format == StorageFormat::kDense || !has_formats(type)) return value.set_storage(-1);
  Module& module = value.graph().module();
  Storage storage;
  storage.format = format;
  storage.dims = type.dims;
  std::rotate(storage.dims.begin() + 1, storage.dims.begin() + 2, storage.dims.end());
  storage.bytes = dense_bytes(module, type.dtype, type.dims);
  value.set_storage(module.intern(storage));
}

}  // namespace sluice
