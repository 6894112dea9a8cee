// The order in which the elements of a tensor lie in memory: a permutation of its axes, each of
// which may be taken apart into blocks.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/lexer.h"
#include "common/base/result.h"

namespace sluice {

// One axis of how a tensor is stored: the part `index / divisor % modulus` of a logical index
// (modulus 0: no modulus).
struct StoredAxis {
  int32_t dim = 0;  // logical
  int64_t divisor = 1;
  int64_t modulus = 0;
  auto operator<=>(const StoredAxis&) const = default;
};

// Permutation and blocking, outermost stored axis first: dense is {0}, {1}, …; NHWC {0}, {2}, {3},
// {1}; nChw16c {0}, {1, 16}, {2}, {3}, {1, 1, 16}; panels of nr columns {1, nr}, {0}, {1, 1, nr}.
using StorageMap = std::vector<StoredAxis>;
StorageMap dense_map(size_t rank);
StorageMap nhwc_map(size_t rank);  // N, spatial axes, C

// Returns what keeps a map from storing each element of a tensor of this rank once; empty: nothing.
// The stored axes of each dim take it apart: divisors go on where moduli end.
std::string storage_fault(const StorageMap& map, size_t rank);

// Returns the number of elements that a tensor of these extents takes, filled blocks; nullopt:
// above 2^56. The map has no fault.
std::optional<uint64_t> stored_elements(const StorageMap& map, const std::vector<int64_t>& extents);
// Returns the number of elements from the first to the last of a tensor of these extents that is
// stored at the distances of one of extents `capacity`, at least as large; 0 without elements;
// nullopt: above 2^56. The map has no fault.
std::optional<uint64_t> stored_span(const StorageMap& map, const std::vector<int64_t>& extents,
                                    const std::vector<int64_t>& capacity);

std::string storage_map_name(const StorageMap& map);  // "dense", "nhwc", or the text of its axes
// The stored axes as text: "[0, 1 by 16, 2, 3, 1 mod 16]". The parser takes any axes in its form.
std::string print_storage_map(const StorageMap& map);
Result<StorageMap> parse_storage_map(text::Lexer& lexer);

}  // namespace sluice
