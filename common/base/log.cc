#include "common/base/log.h"

#include <unistd.h>

#include <atomic>

#include "common/base/readable_text.h"
#include "fmt/format.h"

namespace sluice {
namespace {

std::atomic<bool> is_silent = false;

}  // namespace

void silence_log() { is_silent = true; }

void log_line(std::string_view program, std::string_view kind, std::string_view text) {
  if (kind == "error") return log_text(fmt::format("{}: {} {}\n", program, kind, text));
  if (!is_silent) log_text(fmt::format("{}: {} {}\n", program, kind, readable_text(text)));
}

void log_text(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace sluice
