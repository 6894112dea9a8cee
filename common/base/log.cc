#include "common/base/log.h"

#include <unistd.h>

#include "fmt/format.h"

namespace sluice {

void log_line(std::string_view program, std::string_view kind, std::string_view text) {
  const std::string line = fmt::format("{}: {} {}\n", program, kind, text);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace sluice
