// --kernels: kernels as jobs of their own, which machines with one store share.
#pragma once

#include "common/stage/stage_main.h"

namespace sluice {

// Works on the graphs of the list (kernel_list.h), without lowering any as a whole. Of a line with
// keys these kernels are generated and kept in the store, unless it has them. Of a line without
// keys those are written to -o that the store does not have, each at the first graph that needs
// it, and the store gets a job for each: the record of the kernel without its product, with the
// graph file as an artifact. Returns false without --kernels.
//
// Errors: kUsage beside a graph and without --store; those of list and graphs; kBadFile for a key
// that its graph does not want; kIo when the store cannot be written.
Result<bool> make_listed_kernels(const StageArgs& args);

}  // namespace sluice
