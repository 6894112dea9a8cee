// The sandbox of the process that runs the passes of users (docs/security.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/sandbox/layers.h"

namespace sluice {

// What sluice-pass-host tells the interpreter that it becomes, in its environment.
struct PassLimits {
  uint64_t memory_bytes = 0;          // of data; 0: no limit
  std::vector<std::string> readable;  // files and folders that hold constants of the graph
};
// Returns nothing when a pass host did not start this process.
PassLimits pass_limits_of_environment();
void set_environment(const PassLimits& limits);

// Puts the calling process, which must have one thread, into the sandbox, for good: it reads the
// folders of the files, `readable`, what the environment names, and what the system's libraries
// are; it writes nothing but what is open, and starts no process and no connection. To be called
// after a program's own imports, and before anything of the user is read. Returns the layers that
// hold. Errors: kIo; kInternal when there are several threads.
Result<Layers> enter_pass_sandbox(const std::vector<std::string>& files,
                                  const std::vector<std::string>& readable);

}  // namespace sluice
