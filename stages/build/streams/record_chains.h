// The chains of records that can share an event.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/function_ref.h"

namespace sluice {

// Up to so many records get the fewest chains there are.
inline constexpr size_t kMaxMatched = 1024;

// Returns a chain for each record, numbered in the order of their first records, so that each
// record of a chain can follow the one before it. streams: by record, the stream that makes it.
// can_follow(a, b) is asked for a < b alone and is transitive. Of more than kMaxMatched records
// there is at most one chain for each stream whose records all follow each other.
std::vector<uint32_t> record_chains(std::span<const uint32_t> streams,
                                    FunctionRef<bool(uint32_t, uint32_t)> can_follow);

}  // namespace sluice
