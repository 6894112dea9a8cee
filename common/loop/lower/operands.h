// Elements of small inputs that say what to do: constants in the instructions where they are known,
// else read from memory.
#pragma once

#include "common/loop/lowering.h"

namespace sluice::loop {

// Element `place` of an input of one dim, as an i64.
Result<InstructionId> integer_at(Lowering& l, const Node& node, size_t input, size_t place);
// The same as an f64.
Result<InstructionId> real_at(Lowering& l, const Node& node, size_t input, size_t place);
// The same with the dtype that it has.
Result<InstructionId> number_at(Lowering& l, const Node& node, size_t input, size_t place);

// Returns guards that keep an index, whose entries run over `extents`, inside a value. Dims of
// which it is known that they have the extent of the loop, or more, need none.
std::vector<Guard> within(Lowering& l, const Value& value, const Index& index,
                          const Index& extents);

}  // namespace sluice::loop
