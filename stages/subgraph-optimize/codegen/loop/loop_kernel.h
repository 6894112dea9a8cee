// Generates a kernel from a loop graph.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "stages/subgraph-optimize/codegen/codegen.h"

namespace sluice {

// Generates the kernel of a specification (common/target/kernel_specification.h), whose text is all
// that the code depends on. The kernel's pointers are the buffers that are not local, in order; its
// symbols the dims of these. With a size of 0 it does what is left to do. name is that of the text,
// for errors. Errors: those of parse_specification; kCodegen.
Result<GeneratedKernel> generate_loops(std::string_view specification, const std::string& name);

}  // namespace sluice
