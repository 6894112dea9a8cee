// What scalar instructions compute, on single values. A value is the bits of its dtype in the low
// bits of a u64, zeros above them; a bool is 0 or 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/base/dtype.h"
#include "common/loop/scalar.h"

namespace sluice::loop {

// Computes an instruction whose operands (the second and third for select) have the dtype `from`,
// and whose result has the dtype `to`. Sets `fault`, and never clears it, where an integer is
// divided by 0 or an index is out of range.
uint64_t compute_scalar(ScalarOp op, DType from, DType to, const std::array<uint64_t, 3>& operands,
                        bool& fault);

// Reads an element of a buffer as a value of register_dtype(dtype), and writes one. Elements of
// f16 and bf16 are rounded half to even.
uint64_t load_value(DType dtype, const std::byte* element);
void store_value(DType dtype, uint64_t value, std::byte* element);

}  // namespace sluice::loop
