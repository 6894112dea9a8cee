// Values that grow in place in memory: a state's keys and values of all tokens so far. Their
// storage is dense and as large as their bound, so that existing elements stay in place when more
// are appended.
#pragma once

#include <optional>

#include "common/ir/graph.h"

namespace sluice {

// Returns the axis along which the value's storage has capacity for more than the value, or nothing
// for any other storage, that of parts of wider rows (value_storage.h) included.
std::optional<size_t> append_axis(const Value& value);

// Returns the storage of values of this type with capacity for `bound` elements along the axis.
Storage append_storage(Module& module, const Type& type, size_t axis, int64_t bound);

// Returns the bytes of a dense tensor with these dims, as a dim. The elements must be whole bytes.
Dim dense_bytes(Module& module, DType dtype, const std::vector<Dim>& dims);

}  // namespace sluice
