#include "common/base/storage_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace sluice {
namespace {

constexpr int64_t kMaxStoredElements = int64_t{1} << 56;

// Returns the extent of a stored axis for a dim of extent `whole`, which is not 0.
int64_t stored_extent(const StoredAxis& axis, int64_t whole) {
  return axis.modulus > 0 ? axis.modulus : (whole - 1) / axis.divisor + 1;
}

// The number of logical dims that the stored axes take apart.
size_t rank_of(const StorageMap& map) {
  size_t rank = 0;
  for (const StoredAxis& axis : map) rank = std::max(rank, static_cast<size_t>(axis.dim) + 1);
  return rank;
}

}  // namespace

StorageMap dense_map(size_t rank) {
  StorageMap map(rank);
  for (size_t i = 0; i < rank; ++i) map[i].dim = static_cast<int32_t>(i);
  return map;
}

StorageMap nhwc_map(size_t rank) {
  StorageMap map = dense_map(rank);
  if (rank > 2) std::rotate(map.begin() + 1, map.begin() + 2, map.end());
  return map;
}

std::string storage_fault(const StorageMap& map, size_t rank) {
  for (const StoredAxis& axis : map) {
    if (axis.dim < 0 || static_cast<size_t>(axis.dim) >= rank)
      return fmt::format("a stored axis of dim {}", axis.dim);
  }
  for (size_t dim = 0; dim < rank; ++dim) {
    StorageMap parts;
    std::ranges::copy_if(map, std::back_inserter(parts), [&](const StoredAxis& axis) {
      return static_cast<size_t>(axis.dim) == dim;
    });
    std::ranges::sort(parts, {}, &StoredAxis::divisor);
    int64_t covered = 1;  // 0: the whole dim
    for (const StoredAxis& part : parts) {
      if (covered == 0 || part.divisor != covered || part.modulus < 0)
        return fmt::format("stored axes of dim {} overlap or leave gaps", dim);
      if (__builtin_mul_overflow(covered, part.modulus, &covered))
        return fmt::format("stored axes of dim {} are too long", dim);
    }
    if (covered != 0) return fmt::format("dim {} is not stored", dim);
  }
  return {};
}

std::optional<uint64_t> stored_elements(const StorageMap& map,
                                        const std::vector<int64_t>& extents) {
  int64_t elements = 1;
  for (const StoredAxis& axis : map) {
    const int64_t whole = extents[static_cast<size_t>(axis.dim)];
    if (whole == 0) return 0;
    if (__builtin_mul_overflow(elements, stored_extent(axis, whole), &elements) ||
        elements > kMaxStoredElements)
      return std::nullopt;
  }
  return static_cast<uint64_t>(elements);
}

std::optional<uint64_t> stored_span(const StorageMap& map, const std::vector<int64_t>& extents,
                                    const std::vector<int64_t>& capacity) {
  if (std::ranges::find(extents, 0) != extents.end()) return 0;
  int64_t last = 0, stride = 1;  // elements
  for (size_t i = map.size(); i-- > 0;) {
    const auto dim = static_cast<size_t>(map[i].dim);
    int64_t along = 0;
    if (__builtin_mul_overflow(stored_extent(map[i], extents[dim]) - 1, stride, &along) ||
        __builtin_add_overflow(last, along, &last) ||
        __builtin_mul_overflow(stride, stored_extent(map[i], capacity[dim]), &stride) ||
        last >= kMaxStoredElements || stride > kMaxStoredElements)
      return std::nullopt;
  }
  return static_cast<uint64_t>(last + 1);
}

std::string print_storage_map(const StorageMap& map) {
  std::string result;
  for (const StoredAxis& axis : map) {
    result += fmt::format("{}{}", result.empty() ? "" : ", ", axis.dim);
    if (axis.divisor != 1) result += fmt::format(" by {}", axis.divisor);
    if (axis.modulus != 0) result += fmt::format(" mod {}", axis.modulus);
  }
  return "[" + result + "]";
}

std::string storage_map_name(const StorageMap& map) {
  const size_t rank = rank_of(map);
  if (map == dense_map(rank)) return "dense";
  return map == nhwc_map(rank) ? "nhwc" : print_storage_map(map);
}

Result<StorageMap> parse_storage_map(text::Lexer& lexer) {
  constexpr int64_t kMaxDim = 1 << 16;
  StorageMap map;
  SLUICE_TRY(lexer.expect("["));
  while (!lexer.token().is("]")) {
    if (!map.empty()) SLUICE_TRY(lexer.expect(","));
    StoredAxis axis;
    SLUICE_ASSIGN(const int64_t dim, lexer.take_int("a dim", 0, kMaxDim));
    axis.dim = static_cast<int32_t>(dim);
    SLUICE_ASSIGN(const bool has_divisor, lexer.skip("by"));
    if (has_divisor) {
      SLUICE_ASSIGN(axis.divisor, lexer.take_int("by", 1));
    }
    SLUICE_ASSIGN(const bool has_modulus, lexer.skip("mod"));
    if (has_modulus) {
      SLUICE_ASSIGN(axis.modulus, lexer.take_int("mod", 1));
    }
    map.push_back(axis);
  }
  SLUICE_TRY(lexer.advance());
  return map;
}

}  // namespace sluice
