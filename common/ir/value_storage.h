// The formats of values: how the elements of a tensor lie in memory.
#pragma once

#include <string_view>

#include "common/ir/graph.h"

namespace sluice {

// Returns the format of the value's storage; dense without one.
StorageFormat format_of(const Value& value);
std::string_view format_name(StorageFormat format);  // "dense", "nhwc"

// Returns whether a tensor has other bytes in NHWC than dense: it is of rank 3 or more, and has
// several channels, and several elements in each.
bool has_formats(const Type& type);

// Stores the value in a format; without a storage where that is dense, or has the same bytes. The
// elements must be whole bytes.
void store(Value& value, StorageFormat format);

}  // namespace sluice
