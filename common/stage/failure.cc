#include "common/stage/failure.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "common/base/failure_header.h"
#include "common/base/file_kind.h"
#include "common/base/files.h"
#include "common/base/log.h"

namespace sluice {
namespace {

bool is_pipe(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 &&
         (S_ISFIFO(status.st_mode) ||
          S_ISSOCK(status.st_mode));  // some shells use sockets as pipes
}

// Returns the remaining bytes of standard input, at most one more than a failure header has.
std::vector<std::byte> remaining_input() {
  std::vector<std::byte> kept;
  std::array<std::byte, 65536> buffer;
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return kept;
    const size_t wanted = std::min(static_cast<size_t>(got), kFailureHeaderBytes + 1 - kept.size());
    kept.insert(kept.end(), buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(wanted));
  }
}

}  // namespace

bool fails_into_pipe(const std::string& output) { return output == "-" && is_pipe(STDOUT_FILENO); }

std::string failure_text(const std::string& program, const Error& error) {
  const auto bytes =
      print_failure_header(error.code, error.reported_by.empty() ? program : error.reported_by);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Error earliest_failure(Error own, const std::string& input) {
  if (input != "-" || !is_pipe(STDIN_FILENO)) return own;
  const std::vector<std::byte> remaining = remaining_input();
  if (file_kind(remaining) != FileKind::kFailure) return own;
  Error earlier = failure_read(remaining);
  return earlier.reported_by.empty() ? own : earlier;
}

std::string error_line(const std::string& program, const Error& error, bool json) {
  return json ? error_json(error) + "\n"
              : fmt::format("{}: error {}\n", program, error_text(error));
}

int end_failed(const std::string& program, const Error& error, bool json, bool into_pipe) {
  if (error.reported_by.empty()) log_text(error_line(program, error, json));
  if (into_pipe) {
    const std::string header = failure_text(program, error);
    // Without a reader there is nobody to report to.
    static_cast<void>(write_descriptor(STDOUT_FILENO, std::as_bytes(std::span(header))).ok());
  }
  return static_cast<int>(exit_class(error.code));
}

}  // namespace sluice
