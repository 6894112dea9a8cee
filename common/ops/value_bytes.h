// The bytes of values in their storages.
#pragma once

#include <cstdint>
#include <optional>

#include "common/ir/graph.h"
#include "common/ir/module.h"

namespace sluice {

// Returns the bytes of a value: a number, an expression over symbols, or unknown.
Dim value_bytes(const Value& value);

// Returns the bytes of a value at the nominal sizes; 0 when they are unknown.
uint64_t nominal_bytes(const Value& value);

// Returns the largest number that a dim can be; nothing when it has no bound, or one above what any
// value may have (kMaxValueBytes).
std::optional<uint64_t> max_bytes(const Module& module, const Dim& bytes);

}  // namespace sluice
