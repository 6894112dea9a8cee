// Generates a kernel from a loop graph.
#pragma once

#include "common/loop/loop_graph.h"
#include "common/target/profile.h"
#include "stages/subgraph-optimize/codegen/codegen.h"
#include "stages/subgraph-optimize/codegen/emit/math_precision.h"

namespace sluice {

// The kernel's pointers are the buffers that are not local, in order; its symbols the dims of
// these. `text` is the loop graph's text, which with the profile and the precision names the
// kernel. With a size of 0 it does what is left to do. Errors: kCodegen.
Result<GeneratedKernel> generate_loops(const loop::LoopGraph& graph, const std::string& text,
                                       const DeviceProfile& profile, MathPrecision precision);

}  // namespace sluice
