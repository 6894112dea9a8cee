// A program as a pass: it reads a graph on standard input and writes one on standard output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace sluice {

struct ProgramPass {
  std::string path;
  uint64_t memory_bytes = 0;          // of it, and of what it writes
  bool is_sandboxed = false;          // in a job of a worker; it starts no process there
  std::vector<std::string> readable;  // in the sandbox: what constants are in
  int stage = -1;                     // a descriptor whose other end the stage has
};

// Returns what it wrote; nothing when the stage has gone. Nothing that it started is left. Errors:
// kPassFailed, kLimit, kIo.
Result<std::optional<std::vector<std::byte>>> run_program(const ProgramPass& program,
                                                          std::span<const std::byte> graph);

}  // namespace sluice
