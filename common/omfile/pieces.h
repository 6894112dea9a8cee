// Values that lie within other values (FixedPart.piece_value), and values whose rows are apart
// because the distances of their elements follow from a wider type (value_capacity): rules, and the
// bytes they take. Indices of types and storages were verified, except in functions named "fault".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/omfile/type_sizes.h"
#include "model.pb.h"

namespace sluice {

// Returns whether the distances of a value's elements follow from another type than its own.
inline bool has_rows_apart(const pb::FixedPart& part, uint32_t value) {
  const int v = static_cast<int>(value);
  return v < part.value_capacity_size() && part.value_capacity(v) != 0 &&
         part.value_capacity(v) - 1 != part.value_type(v);
}

// Returns the bytes from the first to the last element of a value whose rows are apart. nullopt: a
// dim has no extent before the part is bound. Error: kBadBinding for impossibly many.
Result<std::optional<uint64_t>> bytes_of_rows(const pb::ModelDef& model, const pb::FixedPart& part,
                                              const TypeSizes& sizes, uint32_t value);

// Returns the fault in the capacity of a value whose rows are apart; empty: none. Its storage was
// verified. Sizes that are unknown count when `is_bound`.
std::string rows_fault(const pb::ModelDef& model, const pb::FixedPart& part, const TypeSizes& sizes,
                       bool is_bound, uint32_t value);

// Returns the fault in the arrays that name pieces; empty: none. Places count when `is_bound`: the
// bytes of a piece, from its first to its last, are among those of its whole. O(pieces).
std::string pieces_fault(const pb::FixedPart& part, bool is_bound);

}  // namespace sluice
