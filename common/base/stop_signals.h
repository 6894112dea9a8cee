// What programs that run until somebody ends them need from the system.
#pragma once

#include "common/base/descriptor.h"
#include "common/base/result.h"

namespace sluice {

// Returns a descriptor that is readable when SIGTERM, SIGINT or SIGHUP has come; they do nothing
// else from now on. Must be called before there are other threads, which inherit that. Errors: kIo.
Result<Descriptor> stop_signals();

// Raises the limit of open files to what the system allows: each connection takes one, and ZeroMQ
// ends a process that has none left.
void allow_many_files();

}  // namespace sluice
