// People-text on stderr. Nothing in Sluice writes to stdout but a stage's graph.
#pragma once

#include <string_view>

namespace sluice {

// From now on nothing but errors is told: -q, --quiet of every program.
void silence_log();
// Text as it is, in one write, to standard error; that it cannot be written is nobody to tell.
void log_text(std::string_view text);
// "program: kind text\n" in one write; of a kind other than "error" not after silence_log().
void log_line(std::string_view program, std::string_view kind, std::string_view text);

inline void log_warning(std::string_view program, std::string_view text) {
  log_line(program, "warning", text);
}

}  // namespace sluice
