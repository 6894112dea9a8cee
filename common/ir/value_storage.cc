#include "common/ir/value_storage.h"

#include <fmt/format.h>

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

std::string layout_name(const Value* value) {
  if (value == nullptr || value->storage() == nullptr) return "dense";
  const std::string name = storage_map_name(value->storage()->map);
  const auto axis = row_axis(*value);
  return axis ? fmt::format("{} of {}", name, value->storage()->dims[*axis].value) : name;
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

StorageId storage_in(const Value& value, const StorageMap& map) {
  const Type& type = value.type();
  if (!has_formats(type) || map == dense_map(type.dims.size())) return -1;
  Module& module = value.graph().module();
  Storage storage;
  storage.map = map;
  for (const StoredAxis& axis : map)
    storage.dims.push_back(stored_extent(module, axis, type.dims[static_cast<size_t>(axis.dim)]));
  storage.bytes = dense_bytes(module, type.dtype, storage.dims);
  return module.intern(storage);
}

void store(Value& value, const StorageMap& map) { value.set_storage(storage_in(value, map)); }

std::optional<size_t> row_axis(const Value& value) {
  const Storage* storage = value.storage();
  if (storage == nullptr || append_axis(value)) return std::nullopt;
  for (size_t i = 0; i < storage->map.size(); ++i) {
    const StoredAxis& axis = storage->map[i];
    const bool is_whole = axis.divisor == 1 && axis.modulus == 0;
    if (is_whole && storage->dims[i] != value.type().dims[static_cast<size_t>(axis.dim)]) return i;
  }
  return std::nullopt;
}

void store_rows(Value& value, size_t axis, int64_t capacity) {
  Module& module = value.graph().module();
  ExpressionTable& table = module.expressions;
  const Type& type = value.type();
  Storage storage;
  storage.map = storage_map_of(value);
  for (const StoredAxis& stored : storage.map)
    storage.dims.push_back(
        stored_extent(module, stored, type.dims[static_cast<size_t>(stored.dim)]));
  const auto begin = storage.dims.begin();
  const Dim rows = dense_bytes(module, DType::kU8, {begin, begin + static_cast<int64_t>(axis)}),
            inner = dense_bytes(module, type.dtype,
                                {begin + static_cast<int64_t>(axis) + 1, storage.dims.end()});
  const int64_t unused = capacity - storage.dims[axis].value;
  storage.dims[axis] = Dim::fixed(capacity);
  const auto expression = [&](const Dim& dim) {
    return dim.is_fixed() ? table.constant(dim.value) : static_cast<ExpressionId>(dim.value);
  };
  const ExpressionId whole =
      table.multiply(table.multiply(expression(rows), expression(inner)), table.constant(capacity));
  const ExpressionId end =
      table.subtract(whole, table.multiply(expression(inner), table.constant(unused)));
  storage.bytes = module.make_dim(table.maximum(end, table.constant(0)));
  value.set_storage(module.intern(storage));
}

std::optional<std::vector<ExpressionId>> stored_strides(const Value& value) {
  Module& module = value.graph().module();
  ExpressionTable& table = module.expressions;
  const Type& type = value.type();
  if (!type.is_tensor() || !type.ranked || dtype_bits(type.dtype) % 8 != 0) return std::nullopt;
  const StorageMap map = storage_map_of(value);
  std::vector<ExpressionId> strides(map.size());
  ExpressionId stride = table.constant(dtype_bits(type.dtype) / 8);
  for (size_t i = map.size(); i-- > 0;) {
    strides[i] = stride;
    const auto extent = module.dim_expression(
        value.storage() != nullptr
            ? value.storage()->dims[i]
            : stored_extent(module, map[i], type.dims[static_cast<size_t>(map[i].dim)]));
    if (!extent) return std::nullopt;
    stride = table.multiply(stride, *extent);
  }
  return strides;
}

std::string operand_layouts(const Node& node) {
  std::vector<const Value*> operands;
  for (size_t i = 0; i < node.input_count(); ++i) operands.push_back(node.input(i));
  for (size_t k = 0; k < node.output_count(); ++k) operands.push_back(&node.output(k));
  const bool is_dense = std::ranges::all_of(operands, [](const Value* value) {
    return value == nullptr || value->storage() == nullptr ||
           (is_stored_dense(*value) && !row_axis(*value));
  });
  if (is_dense) return {};
  std::string text;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_first_result = i == node.input_count();
    text += is_first_result ? " -> " : i == 0 ? "" : ", ";
    text += layout_name(operands[i]);
  }
  return text;
}

}  // namespace sluice
