// What a graph of each level promises (design section 3), checked. One file per level, each a list
// of checks.
#pragma once

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Everything that is wrong is listed in one error (kVerifyFailed), the first 20 findings one per
// line. Linear in the size of the module.
Result<void> verify(const Module& module, Level level);
// Also hashes every constant that has bytes at hand (--verify=segments).
Result<void> verify_segments(const Module& module);
// No constant that something reads, nor what is made on the way to one, may have more than `most`
// bytes (--max-constant-bytes): a file of a few bytes can ask for terabytes. Errors: kLimit, listed
// as by verify.
Result<void> verify_constant_sizes(const Module& module, uint64_t maximum);

}  // namespace sluice
