#include "common/base/log.h"

#include <unistd.h>

#include "fmt/format.h"

namespace sluice {

void log_line(std::string_view program, std::string_view kind, std::string_view text) {
  log_text(fmt::format("{}: {} {}\n", program, kind, text));
}

void log_text(std::string_view text) { [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size()); }

}  // namespace sluice
