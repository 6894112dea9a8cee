#include "common/ir/type.h"

#include <algorithm>

namespace sluice {

Type Type::fixed_tensor(DType dtype, const std::vector<int64_t>& extents) {
  Type type = tensor(dtype, {});
  for (const int64_t extent : extents) type.dims.push_back(Dim::fixed(extent));
  return type;
}

bool Type::is_fixed() const {
  return is_tensor() && ranked && dtype != DType::kUndefined &&
         std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.is_fixed(); });
}

bool Type::has_unknown() const {
  return !is_tensor() || !ranked ||
         std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.is_unknown(); });
}

std::optional<std::vector<int64_t>> Type::extents() const {
  if (!is_fixed()) return std::nullopt;
  std::vector<int64_t> extents;
  for (const Dim& dim : dims) extents.push_back(dim.value);
  return extents;
}

std::optional<int64_t> Type::element_count() const {
  if (!is_fixed()) return std::nullopt;
  if (std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.value == 0; }))
    return 0;
  int64_t count = 1;
  for (const Dim& dim : dims) {
    if (dim.value < 0 || __builtin_mul_overflow(count, dim.value, &count) ||
        count > int64_t{1} << 62)
      return std::nullopt;
  }
  return count;
}

std::optional<uint64_t> Type::dense_bytes() const {
  const auto count = element_count();
  if (!count || dtype == DType::kString || *count > int64_t{1} << 57) return std::nullopt;
  return dtype_bytes(dtype, static_cast<uint64_t>(*count));
}

}  // namespace sluice
