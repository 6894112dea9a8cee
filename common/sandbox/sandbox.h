// What a job of a stage may do: read its inputs, write its outputs, compute for a while in
// some memory; no network, no other process (docs/security.md). The system calls that build it up
// are made in the process of the job itself, between fork and its work.
//
// A layer that the kernel does not offer is left out, and layers() says which ones hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/descriptor.h"
#include "common/base/result.h"
#include "common/sandbox/landlock.h"
#include "common/sandbox/layers.h"
#include "common/sandbox/system_calls.h"

namespace sluice {

struct Sandbox {
  // Files and folders; what does not exist is skipped. Libraries of the system are always readable.
  std::vector<std::string> readable;
  std::vector<std::string> writable;  // readable, too
  std::string program;                // that is run; empty: one beside this program
  uint64_t memory_bytes = 0;          // of data; 0: no limit, as for the others
  uint64_t cpu_seconds = 0;           // processor time of all threads
  uint64_t file_bytes = 0;            // of one file
};

// What runs in a sandbox.
enum class Confined {
  kBody,     // code of this program
  kProgram,  // another program, which run_program() starts; that program starts no further one
};

// A sandbox that is ready to be entered. All that needs memory has been done, so that the child of
// a process with threads can enter.
class PreparedSandbox {
 public:
  // Errors: kIo.
  static Result<PreparedSandbox> prepare(const Sandbox& sandbox, Confined what);

  // Puts the calling process, which must have one thread, into the sandbox. Returns the layers that
  // hold; nothing when one that the kernel offers cannot be set up, and errno says why. Only calls
  // that are safe in a signal handler are made. program: a descriptor of the program for
  // run_program(), else -1.
  Layers enter(int program) noexcept;
  // Becomes the program. Returns when that fails, and errno says why.
  void run_program(char* const* arguments) const noexcept;

 private:
  PreparedSandbox(const Sandbox& sandbox, Confined what) : what_(what), limits_(sandbox) {}

  Confined what_;
  Sandbox limits_;
  int program_ = -1;  // the only descriptor that may be executed: no other can get its number
  FileRules files_;
  CallFilter calls_;
};

// Returns the layers that a sandbox has on this machine: a child enters one. A process that forks
// jobs calls it first, while it has one thread; its children find libseccomp loaded. Errors: kIo.
Result<Layers> offered_layers();

}  // namespace sluice
