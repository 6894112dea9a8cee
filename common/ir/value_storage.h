// How the elements of values lie in memory.
#pragma once

#include <optional>
#include <string>

#include "common/ir/graph.h"

namespace sluice {

// Returns the order in which a ranked tensor is stored; dense without a storage.
StorageMap storage_map_of(const Value& value);
bool is_stored_dense(const Value& value);  // a state's memory is dense, with gaps

// Returns the stored axis along which rows of the value are parts of wider rows (store_rows), or
// nothing.
std::optional<size_t> row_axis(const Value& value);

// Returns whether a tensor has other bytes in NHWC than dense: it is of rank 3 or more, and has
// several channels, and several elements in each.
bool has_formats(const Type& type);

// Stores the value in this order; without a storage where that is dense, or where the tensor has
// the same bytes in all formats. The elements must be whole bytes.
void store(Value& value, const StorageMap& map);
StorageId storage_in(const Value& value, const StorageMap& map);  // that store() would give it

// Stores the value in the order that it has, with room for `capacity` elements along a stored axis
// of a fixed extent: what lies between its rows are other values, parts of the same whole as it.
// Its bytes end with its last row. The axis is a whole dim.
void store_rows(Value& value, size_t axis, int64_t capacity);

// Returns the bytes from one index to the next along each stored axis of a ranked tensor, outermost
// first; nothing when one has no known extent or elements are no whole bytes.
std::optional<std::vector<ExpressionId>> stored_strides(const Value& value);

// Returns how the operands of a node lie, its results last: "nhwc of 32, dense -> nhwc", where 32
// is the extent of the wider rows that its rows are parts of; empty where all are dense.
std::string operand_layouts(const Node& node);

}  // namespace sluice
