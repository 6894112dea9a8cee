#include "common/tools/reduce/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>

#include "common/base/descriptor.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxOutput = 1 << 20;
constexpr int kCannotStart = 127;

std::atomic<bool> caught = false;

// Between fork and exec only async-signal-safe calls are allowed.
[[noreturn]] void become(char* const* arguments, int output, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotStart);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  execvp(arguments[0], arguments);
  _exit(kCannotStart);
}

// Reads until every writer has closed its end, which a remaining child process may never do.
// Returns false when the time is over first.
bool read_output(int fd, Clock::time_point deadline, std::string& output) {
  std::array<char, 65536> buffer;
  while (!caught) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd entry{fd, POLLIN, 0};
    if (poll(&entry, 1, static_cast<int>(std::min<int64_t>(left, 1000))) <= 0) continue;
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count == 0 || (count < 0 && errno != EINTR)) return true;
    if (count > 0)
      output.append(buffer.data(),
                    std::min(static_cast<size_t>(count), kMaxOutput - output.size()));
  }
  return false;
}

// A process that closed the stream may still run.
bool wait_until(pid_t child, Clock::time_point deadline, int& status) {
  for (int pause = 200; !caught; pause = std::min(pause * 2, 20000)) {
    if (waitpid(child, &status, WNOHANG) == child) return true;
    if (Clock::now() >= deadline) return false;
    usleep(static_cast<useconds_t>(pause));
  }
  return false;
}

// Returns "SL2002", the number of the first error printed, or nothing.
std::string error_number(const std::string& output) {
  constexpr std::string_view kMark = ": error SL";
  const size_t at = output.find(kMark);
  return at == std::string::npos ? "" : output.substr(at + kMark.size() - 2, 6);
}

}  // namespace

std::string ending_text(const Ending& ending) {
  if (ending.timed_out) return "no end";
  if (ending.signal != 0)
    return fmt::format("signal {} ({})", ending.signal, strsignal(ending.signal));
  const std::string number = error_number(ending.output);
  return fmt::format("exit code {}{}{}", ending.code, number.empty() ? "" : ", ", number);
}

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = [](int) { caught = true; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return caught; }

Result<Ending> run_command(const std::vector<std::string>& arguments, double seconds) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return make_error(ErrorCode::kIo, "cannot make a pipe: {}", std::strerror(errno));
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0)
    return make_error(ErrorCode::kIo, "cannot start '{}': {}", arguments[0], std::strerror(errno));
  if (child == 0) become(pointers.data(), writer.get(), parent);
  setpgid(child, child);
  writer.reset();
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(seconds));
  Ending ending;
  int status = 0;
  bool ended =
      read_output(reader.get(), deadline, ending.output) && wait_until(child, deadline, status);
  kill(-child, SIGKILL);
  if (!ended) ended = waitpid(child, &status, 0) == child && !WIFSIGNALED(status);
  if (interrupted()) return make_error(ErrorCode::kIo, "interrupted");
  ending.timed_out = !ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ending.code = WEXITSTATUS(status);
  return ending;
}

Result<Ending> Command::run(const std::string& path) {
  std::vector<std::string> words = words_;
  for (std::string& word : words) {
    for (size_t at = word.find('%'); at != std::string::npos; at = word.find('%', at + path.size()))
      word.replace(at, 1, path);
  }
  ++runs_;
  return run_command(words, seconds_);
}

bool Command::is_wanted(const Ending& ending) const {
  if (wanted_.exit_code &&
      (ending.signal != 0 || ending.timed_out || ending.code != *wanted_.exit_code))
    return false;
  if (!wanted_.text.empty() && ending.output.find(wanted_.text) == std::string::npos) return false;
  if (wanted_.exit_code || !wanted_.text.empty()) return true;
  if (whole_.timed_out || ending.timed_out) return whole_.timed_out == ending.timed_out;
  return ending.code == whole_.code && ending.signal == whole_.signal &&
         error_number(ending.output) == error_number(whole_.output);
}

Result<void> Command::learn(const std::string& path) {
  SLUICE_ASSIGN(whole_, run(path));
  if (whole_.code == kCannotStart && !wanted_.exit_code) {
    return make_error(ErrorCode::kNotFound, "the command '{}' cannot be started", words_[0]);
  }
  const bool is_specified = wanted_.exit_code || !wanted_.text.empty();
  if (is_specified ? is_wanted(whole_) : whole_.code != 0 || whole_.signal != 0 || whole_.timed_out)
    return {};
  return make_error(ErrorCode::kBadOption, "the command does not fail{} on the whole model: {}",
                    is_specified ? " as requested" : "", ending_text(whole_))
      .with_hint(
          "% in the command is the model's path; --exit-code and --match say what counts as the "
          "failure");
}

Result<bool> Command::fails(const std::string& path) {
  SLUICE_ASSIGN(const Ending ending, run(path));
  return is_wanted(ending);
}

}  // namespace sluice
