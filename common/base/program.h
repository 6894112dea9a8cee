// What every program does first, and how it prints what was asked of it instead of its work.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"

namespace sluice {

// To be called before any file is opened. A standard stream that is closed gets a file that cannot
// be used, since otherwise the next file opened would take its number. The signals of a closed
// reader and of a file that grew to its limit are ignored: both are kIo of a write.
void begin_program();

// Writes text, such as that of --help, to standard output. The exit code; when it cannot be
// written, after the error was told: that the reader has gone is none to tell.
int print_text(std::string_view program, std::string_view text);

// Whether a process that died of this signal was ended by somebody else: a person, a batch system,
// the kernel when memory or CPU time ran out. The other signals are of its own making.
bool is_signal_from_outside(int signal);

// Where a file written as `path` really goes: symbolic links are followed, also one whose target
// does not exist yet.
std::string behind_links(const std::string& path);

// kBadOption when both paths lead to the same regular file, which would be replaced by what is made
// of it.
Result<void> check_output_is_no_input(const std::string& output, const std::string& input);

}  // namespace sluice
