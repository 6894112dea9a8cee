#include "common/ir/append_axis.h"

#include "common/ir/module.h"

namespace sluice {

std::optional<size_t> append_axis(const Value& value) {
  const Storage* storage = value.storage();
  const std::vector<Dim>& dims = value.type().dims;
  if (storage == nullptr || storage->map != dense_map(dims.size()) ||
      storage->dims.size() != dims.size() ||
      storage->bytes != dense_bytes(value.graph().module(), value.type().dtype, storage->dims))
    return std::nullopt;  // bytes of parts of wider rows end with the last of them
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (storage->dims[axis] != dims[axis]) return axis;
  }
  return std::nullopt;
}

Storage append_storage(Module& module, const Type& type, size_t axis, int64_t bound) {
  Storage storage;
  storage.map = dense_map(type.dims.size());
  storage.dims = type.dims;
  storage.dims[axis] = Dim::fixed(bound);
  storage.bytes = dense_bytes(module, type.dtype, storage.dims);
  return storage;
}

Dim dense_bytes(Module& module, DType dtype, const std::vector<Dim>& dims) {
  ExpressionTable& expressions = module.expressions;
  ExpressionId product = expressions.constant(static_cast<int64_t>(dtype_bits(dtype) / 8));
  for (const Dim& dim : dims) {
    product = expressions.multiply(product, dim.is_fixed() ? expressions.constant(dim.value)
                                                           : static_cast<ExpressionId>(dim.value));
  }
  return module.make_dim(product);
}

}  // namespace sluice
