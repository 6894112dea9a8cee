// Numbers of narrow dtypes (loop_graph.h), which instructions have as their bits, and conversions
// between these and numbers, as in common/eval/number.h.
#pragma once

#include "common/base/float_format.h"
#include "common/loop/lowering.h"

namespace sluice::loop {

// Returns the number that bits of a narrow dtype are: of floats as `real`, f32 or f64, of integers
// as i8 or u8.
InstructionId widened(Lowering& l, DType from, InstructionId bits, DType real);

// Returns a number of any dtype of instructions as bits of a narrow dtype.
InstructionId narrowed(Lowering& l, DType to, InstructionId number, const Narrowing& narrowing);

// Returns an element of a value as a number.
Result<InstructionId> number_of_element(Lowering& l, const Value& value, const Index& index,
                                        DType real);

}  // namespace sluice::loop
