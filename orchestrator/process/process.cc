#include "orchestrator/process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string_view>

namespace sluice {
namespace {

constexpr int kMore = 3;        // the number of a stream besides the standard ones
constexpr int kFirstFree = 10;  // descriptors that a child needs have numbers above its streams

// The signal handler may access only lock-free memory, hence a table of fixed size. A child that
// does not fit into it is still killed by the parent-death signal.
std::array<std::atomic<pid_t>, 1024> children;
std::atomic<int> caught_signal = 0;

void handle_signal(int signal) {
  caught_signal = signal;
  for (const std::atomic<pid_t>& child : children) {
    if (const pid_t pid = child; pid > 0) kill(pid, SIGKILL);
  }
}

void remember(pid_t child) {
  for (std::atomic<pid_t>& entry : children) {
    pid_t empty = 0;
    if (entry.compare_exchange_strong(empty, child)) return;
  }
}

void forget(pid_t child) {
  for (std::atomic<pid_t>& entry : children) {
    pid_t expected = child;
    if (entry.compare_exchange_strong(expected, 0)) return;
  }
}

// A program that cannot be confined does not run.
void become_confined(char* const* arguments, int program, PreparedSandbox& sandbox) {
  constexpr std::string_view kRefused =
      "error SL1007: the sandbox cannot be entered, so nothing was run\n";
  if (sandbox.enter(program)) return sandbox.run_program(arguments);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kRefused.data(), kRefused.size());
  _exit(static_cast<int>(ExitClass::kResource));
}

// The streams have numbers above 2, or are already in place (begin_program). Between fork and exec
// only calls that are safe in a signal handler are allowed, because other threads may hold locks.
[[noreturn]] void become(char* const* arguments, const Streams& streams, pid_t parent, int program,
                         PreparedSandbox* sandbox) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent ended before the line above
  const int fds[3] = {streams.in, streams.out, streams.error};
  for (int target = 0; target < 3; ++target) {
    const int fd = fds[target] >= 0
                       ? fds[target]
                       : open("/dev/null", (target == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
    if (fd != target) {
      dup2(fd, target);
    } else {
      fcntl(fd, F_SETFD, 0);
    }
  }
  if (streams.more >= 0) dup2(streams.more, kMore);
  for (const int fd : streams.kept) fcntl(fd, F_SETFD, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (sandbox == nullptr) {
    execv(arguments[0], arguments);
  } else {
    become_confined(arguments, program, *sandbox);
  }
  _exit(127);
}

std::vector<char*> pointers_to(const std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Error not_started(const std::string& program) {
  return make_error(ErrorCode::kIo, "cannot start '{}': {}", program, std::strerror(errno));
}

bool wait_readable(int fd, double seconds) {
  pollfd entry{fd, POLLIN, 0};
  timespec end{};
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double deadline = end.tv_sec + end.tv_nsec * 1e-9 + seconds;
  while (true) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double left = deadline - (now.tv_sec + now.tv_nsec * 1e-9);
    if (left <= 0) return false;
    const int ready = poll(&entry, 1, static_cast<int>(std::min(std::ceil(left * 1e3), 1e9)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;
  }
}

}  // namespace

Result<pid_t> start_process(const std::vector<std::string>& arguments, const Streams& streams,
                            PreparedSandbox* sandbox) {
  std::vector<char*> pointers = pointers_to(arguments);
  if (interrupted()) return make_error(ErrorCode::kIo, "interrupted");
  const pid_t parent = getpid();
  Descriptor program;
  if (sandbox != nullptr) {
    const Descriptor file(open(arguments[0].c_str(), O_PATH | O_CLOEXEC));
    program = Descriptor(fcntl(file.get(), F_DUPFD_CLOEXEC, kFirstFree));
    if (!program) return not_started(arguments[0]);
  }
  const pid_t child = fork();
  if (child < 0) return not_started(arguments[0]);
  if (child == 0) become(pointers.data(), streams, parent, program.get(), sandbox);
  remember(child);
  if (interrupted()) kill(child, SIGKILL);  // the signal came before the child was remembered
  return child;
}

Result<pid_t> start_shielded_process(const std::vector<std::string>& arguments,
                                     const Streams& streams) {
  std::vector<char*> pointers = pointers_to(arguments);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return not_started(arguments[0]);
  if (child == 0) {
    setpgid(0, 0);
    become(pointers.data(), streams, parent, -1, nullptr);
  }
  return child;
}

Ending wait_for(pid_t child, std::optional<double> seconds) {
  Ending ending;
  if (seconds) {
    const Result<Descriptor> handle = process_handle(child);
    if (handle && !wait_readable(handle->get(), *seconds)) {
      kill_process(*handle);
      ending.timed_out = true;
    }
  }
  int status = 0;
  rusage used{};
  while (wait4(child, &status, 0, &used) < 0 && errno == EINTR) {
  }
  for (const timeval& part : {used.ru_utime, used.ru_stime})
    ending.cpu_seconds +=
        static_cast<double>(part.tv_sec) + static_cast<double>(part.tv_usec) * 1e-6;
  forget(child);
  if (ending.timed_out) return ending;
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ending.code = WEXITSTATUS(status);
  return ending;
}

Result<Descriptor> process_handle(pid_t child) {
  Descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  if (handle) return handle;
  Error error = make_error(ErrorCode::kIo, "cannot watch a process: {}", std::strerror(errno));
  kill(child, SIGKILL);  // not waited for yet, so the number is still its own
  return error;
}

void kill_process(const Descriptor& handle) {
  syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0);
}

bool has_ended(const Descriptor& handle) {
  pollfd entry{handle.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

bool is_known_code(int code) { return code == 0 || (code >= 2 && code <= 7); }

std::string ending_text(const Ending& ending) {
  if (ending.timed_out) return "killed after its time";
  if (ending.signal != 0)
    return fmt::format("signal {} ({})", ending.signal, strsignal(ending.signal));
  return fmt::format("exit code {}", ending.code);
}

Result<Pipe> make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0)
    return make_error(ErrorCode::kIo, "cannot make a pipe: {}", std::strerror(errno));
  return Pipe{Descriptor(fds[0]), Descriptor(fds[1])};
}

Result<Descriptor> make_memory_file() {
  Descriptor file(memfd_create("sluice", MFD_CLOEXEC));
  if (!file)
    return make_error(ErrorCode::kIo, "cannot make a file in memory: {}", std::strerror(errno));
  fcntl(file.get(), F_SETFL, O_APPEND);
  return file;
}

std::string memory_file_text(const Descriptor& file) {
  struct stat status{};
  if (fstat(file.get(), &status) != 0) return {};
  std::string text(static_cast<size_t>(status.st_size), '\0');
  const ssize_t count = pread(file.get(), text.data(), text.size(), 0);
  text.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return text;
}

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = handle_signal;
  action.sa_flags = 0;  // what blocks, such as opening a named pipe, ends with EINTR
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return caught_signal != 0; }

void finish_interrupt() {
  if (const int signal = caught_signal; signal != 0) {
    ::signal(signal, SIG_DFL);
    raise(signal);
  }
}

}  // namespace sluice
