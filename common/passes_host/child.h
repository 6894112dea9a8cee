// Child processes of a stage that runs passes of users, and of a pass host.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/descriptor.h"
#include "common/base/result.h"
#include "common/sandbox/sandbox.h"

namespace sluice {

struct ChildSetup {
  int in = -1, out = -1;      // -1: /dev/null; an `out` of 2 is our standard error
  std::vector<int> kept;      // other descriptors that it inherits, under their numbers
  uint64_t memory_bytes = 0;  // of data; 0: no limit
  PreparedSandbox* sandbox = nullptr;
  bool ends_with_us = true;  // it is killed when this process ends
};

struct PipeEnds {
  Descriptor read, write;
};
// Both ends are above the standard streams, and no program inherits them unasked.
Result<PipeEnds> make_pipe_ends();

// Starts arguments[0], a path, in a process group of its own. Must be called by a thread that
// outlives the child. Errors: kIo.
Result<pid_t> start_child(const std::vector<std::string>& arguments, const ChildSetup& setup);
// Returns a descriptor that is readable when the child has ended.
Descriptor child_handle(pid_t child);
// Returns the status of waitpid.
int wait_for_child(pid_t child);
// Waits for at most so long; returns whether it has ended and was waited for.
bool has_ended_within(pid_t child, int milliseconds, int& status);

// Makes this process the parent of what its children leave behind, so that kill_children finds it.
void adopt_orphans();
// Kills all children, and theirs, and waits for them.
void kill_children();

// Returns "ended with exit code 1", "crashed with signal 11 (Segmentation fault)".
std::string status_text(int status);

// Returns the path of a program of ours, beside this one or in PATH. Errors: kProgramMissing.
Result<std::string> own_program(const std::string& name);

}  // namespace sluice
