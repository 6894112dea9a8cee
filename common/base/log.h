// Text for people on stderr. Only the graph of a stage goes to stdout.
#pragma once

#include <string_view>

namespace sluice {

// Suppresses all lines but errors from now on: -q, --quiet of every program.
void silence_log();
// Writes text unchanged to standard error, in one write. A failed write is ignored, since there is
// nowhere to report it.
void log_text(std::string_view text);
// Writes "program: kind text\n" in one write. After silence_log() only the kind "error" is written.
// Text of other kinds becomes readable_text; that of an error (error_text) is so already.
void log_line(std::string_view program, std::string_view kind, std::string_view text);

inline void log_warning(std::string_view program, std::string_view text) {
  log_line(program, "warning", text);
}

}  // namespace sluice
