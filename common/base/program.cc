#include "common/base/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <span>

#include "common/base/files.h"
#include "common/base/log.h"

namespace sluice {
namespace {

constexpr int kMaxLinks = 40;  // the limit of Linux

}  // namespace

void begin_program() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // Open() returns the lowest free number, thus fd.
    const int opened = ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened != fd) ::close(opened);
  }
}

int print_text(std::string_view program, std::string_view text) {
  const auto written = write_descriptor(STDOUT_FILENO, std::as_bytes(std::span(text)));
  if (written) return 0;
  if (written.error().reported_by.empty()) log_line(program, "error", error_text(written.error()));
  return static_cast<int>(exit_class(written.error().code));
}

bool is_signal_from_outside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
         signal == SIGQUIT || signal == SIGXCPU || signal == SIGBUS;  // a mapped file was cut short
}

std::string behind_links(const std::string& path) {
  namespace fs = std::filesystem;
  fs::path end = path;
  std::error_code failed;
  for (int links = 0; links < kMaxLinks && fs::is_symlink(fs::symlink_status(end, failed));
       ++links) {
    const fs::path target = fs::read_symlink(end, failed);
    if (failed) break;
    end = end.parent_path() / target;  // an absolute target replaces the folder
  }
  return end.string();
}

Result<void> check_output_is_no_input(const std::string& output, const std::string& input) {
  struct stat to{}, from{};
  if (output == "-" || input == "-" || ::stat(output.c_str(), &to) != 0 ||
      ::stat(input.c_str(), &from) != 0)
    return {};
  if (!S_ISREG(to.st_mode) || to.st_dev != from.st_dev || to.st_ino != from.st_ino) return {};
  return make_error(ErrorCode::kBadOption, "the output '{}' is the input itself", output)
      .with_hint("give -o another file");
}

}  // namespace sluice
