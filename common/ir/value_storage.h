// How the elements of values lie in memory.
#pragma once

#include "common/ir/graph.h"

namespace sluice {

// Returns the order in which a ranked tensor is stored; dense without a storage.
StorageMap storage_map_of(const Value& value);
bool is_stored_dense(const Value& value);  // a state's memory is dense, with gaps

// Returns whether a tensor has other bytes in NHWC than dense: it is of rank 3 or more, and has
// several channels, and several elements in each.
bool has_formats(const Type& type);

// Stores the value in this order; without a storage where that is dense, or where the tensor has
// the same bytes in all formats. The elements must be whole bytes.
void store(Value& value, const StorageMap& map);

}  // namespace sluice
