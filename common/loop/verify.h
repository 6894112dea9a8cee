// The rules of loop graphs (loop_graph.h).
#pragma once

#include "common/base/result.h"
#include "common/loop/loop_graph.h"

namespace sluice::loop {

// Checks all rules that do not depend on sizes. Error: kVerifyFailed, "nest 0, sweep 1, %3: …".
//
// Beyond what the declarations say: a nest's instructions and accumulators are numbered in the
// order of its sweeps, as are its axes; every symbol is the one that its LoopSymbol says; a size is
// the operand's dim that it is the index of; fields that an instruction does not use have their
// defaults. So the text (text.h) is all of a graph.
Result<void> verify(const LoopGraph& graph);

}  // namespace sluice::loop
