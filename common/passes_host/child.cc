#include "common/passes_host/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/sandbox/limits.h"

namespace sluice {
namespace {

constexpr int kFirstFree = 10;    // descriptors that a child inherits are above its streams
constexpr int kNotStarted = 127;  // exit code

Result<Descriptor> moved_up(int fd) {
  Descriptor moved(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstFree));
  ::close(fd);
  if (moved) return moved;
  return make_error(ErrorCode::kIo, "cannot make a pipe: {}", std::strerror(errno));
}

void take_stream(int fd, int target) {
  if (fd < 0) fd = ::open("/dev/null", target == STDIN_FILENO ? O_RDONLY : O_WRONLY);
  if (fd != target) ::dup2(fd, target);
}

// Only calls that are safe in a signal handler are made: other threads may hold locks.
[[noreturn]] void become(char* const* arguments, const ChildSetup& setup, pid_t parent,
                         int program) {
  if (setup.ends_with_us) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNotStarted);
  ::setpgid(0, 0);
  take_stream(setup.in, STDIN_FILENO);
  take_stream(setup.out, STDOUT_FILENO);
  for (const int fd : setup.kept) ::fcntl(fd, F_SETFD, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int each : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP}) ::signal(each, SIG_DFL);
  limit_memory(setup.memory_bytes);
  if (setup.sandbox == nullptr) {
    ::execv(arguments[0], arguments);
  } else if (setup.sandbox->enter(program)) {
    setup.sandbox->run_program(arguments);
  }
  ::_exit(kNotStarted);
}

// Returns the children of this process.
std::vector<pid_t> children_here() {
  std::vector<pid_t> children;
  std::error_code failed;
  for (auto task = std::filesystem::directory_iterator("/proc/self/task", failed);
       !failed && task != std::filesystem::directory_iterator(); task.increment(failed)) {
    std::ifstream list(task->path() / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

}  // namespace

Result<PipeEnds> make_pipe_ends() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return make_error(ErrorCode::kIo, "cannot make a pipe: {}", std::strerror(errno));
  auto read = moved_up(ends[0]);
  auto write = moved_up(ends[1]);
  if (!read) return std::move(read).error();
  if (!write) return std::move(write).error();
  return PipeEnds{std::move(*read), std::move(*write)};
}

Result<pid_t> start_child(const std::vector<std::string>& arguments, const ChildSetup& setup) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  Descriptor program;
  if (setup.sandbox != nullptr) {
    const Descriptor file(::open(arguments[0].c_str(), O_PATH | O_CLOEXEC));
    program = Descriptor(::fcntl(file.get(), F_DUPFD_CLOEXEC, kFirstFree));
  }
  const pid_t parent = ::getpid(), child = ::fork();
  if (child == 0) become(pointers.data(), setup, parent, program.get());
  if (child > 0) return child;
  return make_error(ErrorCode::kIo, "cannot start '{}': {}", arguments[0], std::strerror(errno));
}

Descriptor child_handle(pid_t child) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
}

int wait_for_child(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

bool has_ended_within(pid_t child, int milliseconds, int& status) {
  const Descriptor handle = child_handle(child);
  pollfd entry{handle.get(), POLLIN, 0};
  while (handle && ::poll(&entry, 1, milliseconds) < 0 && errno == EINTR) {
  }
  return ::waitpid(child, &status, WNOHANG) == child;
}

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

void kill_children() {
  for (std::vector<pid_t> left = children_here(); !left.empty(); left = children_here()) {
    for (const pid_t child : left) ::kill(child, SIGKILL);
    for (const pid_t child : left) wait_for_child(child);
  }
}

std::string status_text(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("crashed with signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  }
  const int code = WEXITSTATUS(status);
  return fmt::format("ended with exit code {}{}", code,
                     code == kNotStarted ? ": it could not be started" : "");
}

Result<std::string> own_program(const std::string& name) {
  std::error_code failed;
  const auto own = std::filesystem::canonical("/proc/self/exe", failed).parent_path();
  std::string beside = (own / name).string();
  if (::access(beside.c_str(), X_OK) == 0) return beside;
  const char* path = std::getenv("PATH");
  std::string_view left = path == nullptr ? "" : path;
  while (!left.empty()) {
    const size_t end = std::min(left.find(':'), left.size());
    std::string candidate = std::string(left.substr(0, end)) + "/" + name;
    if (end > 0 && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return make_error(ErrorCode::kProgramMissing, "the program '{}' is neither in {} nor in PATH",
                    name, own.string())
      .with_hint("passes of users need it: it is installed with the compiler");
}

}  // namespace sluice
