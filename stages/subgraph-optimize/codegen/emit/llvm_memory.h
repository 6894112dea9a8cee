// Ends the process when memory runs out inside LLVM, which is built without exceptions: nothing may
// be thrown through it, and nothing of it can be cleaned up.
#pragma once

#include "common/base/memory.h"

namespace sluice {

// Must be in scope around all use of LLVM: memory that runs out on this thread then ends the
// process as kLimit does.
class LlvmMemory {
 public:
  LlvmMemory();

 private:
  EndWhenMemoryRunsOut end_;
};

}  // namespace sluice
