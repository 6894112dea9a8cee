// Checks of the promises of each level of a graph (docs/stages.md). One file per level, each a list
// of checks.
#pragma once

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Verifies a module. One error (kVerifyFailed) lists all violations, the first 20 findings one per
// line. Linear in the size of the module.
Result<void> verify(const Module& module, Level level);
// Also hashes every constant whose bytes are available (--verify=segments).
Result<void> verify_segments(const Module& module);
// Checks that no constant that something reads, and no intermediate value of one, has more than
// `maximum` bytes (--max-constant-bytes): a file of a few bytes can ask for terabytes. Errors:
// kLimit, listed as by verify.
Result<void> verify_constant_sizes(const Module& module, uint64_t maximum);

}  // namespace sluice
