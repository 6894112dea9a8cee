// Values that grow within memory of a fixed place: a state's keys and values of all tokens so far.
// Their storage is dense and as large as they may become, so that what is there stays where it is
// when more is written behind it.
#pragma once

#include <optional>

#include "common/ir/graph.h"

namespace sluice {

// The axis along which the value's storage has room for more than the value; nothing for every
// other storage.
std::optional<size_t> append_axis(const Value& value);

// Of values of this type with room for `bound` elements along the axis.
Storage append_storage(Module& module, const Type& type, size_t axis, int64_t bound);

// Bytes of a dense tensor of these dims, as a dim. Of dtypes whose elements are whole bytes.
Dim dense_bytes(Module& module, DType dtype, const std::vector<Dim>& dims);

}  // namespace sluice
