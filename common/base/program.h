// The first calls of every program, and the output of --help and the like.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"

namespace sluice {

// Prepares the process; must be called before any file is opened. A closed standard stream gets a
// file that cannot be used, since otherwise the next opened file would take its number. The signals
// for a closed reader and for a file at its size limit are ignored: the failed write reports both
// as kIo.
void begin_program();

// Writes text, such as that of --help, to standard output. Returns the exit code, after printing
// the error when the write failed. A reader that has gone is not an error to print.
int print_text(std::string_view program, std::string_view text);

// Returns true for the signals by which something outside ends a process: a person, a batch system,
// the kernel when memory or CPU time runs out. The process itself causes the other signals.
bool is_signal_from_outside(int signal);

// Returns the path that a write to `path` reaches: symbolic links are followed, also one whose
// target does not exist yet.
std::string behind_links(const std::string& path);

// Returns kBadOption when both paths lead to the same regular file, which would be replaced by the
// result computed from it.
Result<void> check_output_is_no_input(const std::string& output, const std::string& input);

}  // namespace sluice
