#include "common/omfile/pieces.h"

#include <fmt/format.h>

#include "common/base/dtype.h"

namespace sluice {
namespace {

uint32_t capacity_type_of(const pb::FixedPart& part, uint32_t value) {
  return part.value_capacity(static_cast<int>(value)) - 1;
}

// Returns whether a tensor of one type can have its elements at the distances of the other.
bool is_capacity(const pb::TypeDef& type, const pb::TypeDef& capacity) {
  const int bits = dtype_bits(static_cast<DType>(type.dtype()));
  return capacity.kind() == pb::VALUE_TENSOR && !capacity.unranked() &&
         type.dtype() == capacity.dtype() && type.dims_size() == capacity.dims_size() && bits > 0 &&
         bits % 8 == 0;
}

}  // namespace

Result<std::optional<uint64_t>> bytes_of_rows(const pb::ModelDef& model, const pb::FixedPart& part,
                                              const TypeSizes& sizes, uint32_t value) {
  const int v = static_cast<int>(value);
  const auto extents = sizes.extents(part.value_type(v)),
             capacity = sizes.extents(capacity_type_of(part, value));
  if (!extents || !capacity) return std::optional<uint64_t>();
  const uint32_t storage = part.value_storage(v);
  const StorageMap map = storage == 0
                             ? dense_map(extents->size())
                             : storage_map_of(model.storages(static_cast<int>(storage) - 1));
  const auto elements = stored_span(map, *extents, *capacity);
  if (!elements) return make_error(ErrorCode::kBadBinding, "too many elements");
  const auto dtype = static_cast<DType>(model.types(static_cast<int>(part.value_type(v))).dtype());
  return std::optional<uint64_t>(*elements * static_cast<uint64_t>(dtype_bits(dtype) / 8));
}

std::string rows_fault(const pb::ModelDef& model, const pb::FixedPart& part, const TypeSizes& sizes,
                       bool is_bound, uint32_t value) {
  const int v = static_cast<int>(value);
  const uint32_t type = part.value_type(v), capacity = capacity_type_of(part, value);
  if (capacity >= static_cast<uint32_t>(model.types_size()))
    return fmt::format("has a capacity of type {} of {}", capacity, model.types_size());
  if (!is_capacity(model.types(static_cast<int>(type)), model.types(static_cast<int>(capacity))))
    return "has a capacity of another dtype or rank";
  for (int dim = 0; dim < model.types(static_cast<int>(type)).dims_size(); ++dim) {
    const auto own = sizes.extent(type, dim), wider = sizes.extent(capacity, dim);
    if (is_bound && !wider) return fmt::format("has a capacity without size along dim {}", dim);
    if (own && wider && *own > *wider)
      return fmt::format("has {} elements along dim {}, its capacity {}", *own, dim, *wider);
  }
  const auto bytes = bytes_of_rows(model, part, sizes, value);
  if (!bytes) return "has a capacity of impossibly many elements";
  if (bytes->value_or(0) <= part.value_bytes(v)) return {};
  return fmt::format("has {} bytes of storage, its rows end at byte {}", part.value_bytes(v),
                     **bytes);
}

std::string pieces_fault(const pb::FixedPart& part, bool is_bound) {
  if (part.piece_value_size() != part.piece_of_size())
    return "the columns that describe pieces differ in length";
  const auto values = static_cast<uint32_t>(part.value_type_size());
  for (int i = 0; i < part.piece_value_size(); ++i) {
    const uint32_t piece = part.piece_value(i), whole = part.piece_of(i);
    if (piece >= values || whole >= values || piece == whole)
      return fmt::format("piece {} is value {} of value {}, of {} values", i, piece, whole, values);
    const int p = static_cast<int>(piece), w = static_cast<int>(whole);
    if (part.value_region(p) != part.value_region(w))
      return fmt::format("value {} lies in another region than value {}, of which it is a piece",
                         piece, whole);
    if (!is_bound) continue;
    const uint64_t begin = part.value_offset(p), whole_begin = part.value_offset(w);
    const bool lies_within =
        begin >= whole_begin &&
        begin - whole_begin + part.value_bytes(p) <= part.value_bytes(w);  // within their region
    if (lies_within) continue;
    return fmt::format(
        "value {} at bytes {} + {} leaves value {} at bytes {} + {}, of which it is "
        "a piece",
        piece, begin, part.value_bytes(p), whole, whole_begin, part.value_bytes(w));
  }
  return {};
}

}  // namespace sluice
