// The kernels of the engine vector as text.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Returns the specification (common/target/kernel_specification.h) of the kernel of every node of
// the engine vector whose name fits glob (fnmatch(3)), below a comment with its label and, when it
// is lowered, the entry of its kernel. Types of the module are inferred again. Errors: kWrongLevel
// for a graph that is neither partitioned nor lowered, kBadOption when no node fits.
Result<std::string> loops_text(Module& module, const std::string& glob);

}  // namespace sluice
