#include "common/sandbox/sandbox.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "common/sandbox/limits.h"
#include "common/sandbox/namespaces.h"

extern char** environ;

namespace sluice {
namespace {

// What any program reads: libraries, their index, the sizes of caches and the number of cores.
constexpr const char* kSystem[] = {"/usr",
                                   "/lib",
                                   "/lib64",
                                   "/etc/ld.so.cache",
                                   "/etc/ld.so.preload",
                                   "/etc/ssl/openssl.cnf",
                                   "/proc/cpuinfo",
                                   "/proc/meminfo",
                                   "/proc/stat",
                                   "/proc/sys/vm/overcommit_memory",
                                   "/sys/devices/system",
                                   "/sys/fs/cgroup",
                                   "/sys/kernel/mm/transparent_hugepage",
                                   "/dev/zero",
                                   "/dev/random",
                                   "/dev/urandom"};
// The loaders of dynamic programs, which the kernel executes.
constexpr const char* kLoaders[] = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1",
                                    "/lib/ld-linux-riscv64-lp64d.so.1"};
constexpr uint64_t kMaxDescriptors = 1024;

// Returns the first number that no descriptor may have in the sandbox.
int first_forbidden_descriptor() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, kMaxDescriptors) - 1);
}

// Libraries of Sluice lie beside its programs, or in the folder lib beside that.
std::vector<std::string> program_folders(const std::string& program) {
  std::error_code failed;
  const std::string folder =
      std::filesystem::canonical(program.empty() ? "/proc/self/exe" : program, failed)
          .parent_path()
          .string();
  return {folder, folder + "/../lib"};
}

std::vector<std::string> library_path() {
  const char* path = std::getenv("LD_LIBRARY_PATH");
  std::vector<std::string> folders;
  std::string_view left = path == nullptr ? "" : path;
  while (!left.empty()) {
    const size_t end = std::min(left.find(':'), left.size());
    if (end > 0) folders.emplace_back(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return folders;
}

FileAccess access_of(const Sandbox& sandbox, Confined what) {
  FileAccess access{.readable = sandbox.readable, .writable = sandbox.writable, .executable = {}};
  access.readable.insert(access.readable.end(), std::begin(kSystem), std::end(kSystem));
  for (const auto& folders : {library_path(), program_folders(sandbox.program)})
    access.readable.insert(access.readable.end(), folders.begin(), folders.end());
  access.writable.emplace_back("/dev/null");
  if (what == Confined::kBody) return access;
  access.executable = program_folders(sandbox.program);
  access.executable.insert(access.executable.end(), std::begin(kLoaders), std::end(kLoaders));
  return access;
}

// Building the filter takes milliseconds, so it is built once.
const CallFilter& filter() {
  static const CallFilter filter = CallFilter::make(first_forbidden_descriptor());
  return filter;
}

}  // namespace

Result<PreparedSandbox> PreparedSandbox::prepare(const Sandbox& sandbox, Confined what) {
  PreparedSandbox prepared(sandbox, what);
  SLUICE_ASSIGN(prepared.files_, FileRules::make(access_of(sandbox, what)));
  prepared.program_ = first_forbidden_descriptor();
  prepared.calls_ = filter();
  return prepared;
}

Layers PreparedSandbox::enter(int program) noexcept {
  Layers layers;
  // In a body that number stays free, so nothing can be executed.
  if (what_ == Confined::kBody) ::close(program_);
  if (what_ == Confined::kProgram && ::dup3(program, program_, O_CLOEXEC) < 0) return {};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return {};
  if (!forbid_core_dumps() || !limit_memory(limits_.memory_bytes) ||
      !limit_cpu(limits_.cpu_seconds) || !limit_files(limits_.file_bytes) ||
      !limit_descriptors(static_cast<uint64_t>(program_)))
    return {};
  layers.limits = true;
  enter_namespaces(layers);
  if (!files_.enforce()) return {};
  layers.files = files_.version();
  if (calls_.is_empty()) return layers;
  if (!calls_.enforce()) return {};
  layers.calls = true;
  return layers;
}

void PreparedSandbox::run_program(char* const* arguments) const noexcept {
  if (program_ < 0) {
    ::execv(arguments[0], arguments);
    return;
  }
  ::syscall(SYS_execveat, program_, "", arguments, environ, AT_EMPTY_PATH);
}

Result<Layers> offered_layers() {
  SLUICE_ASSIGN(PreparedSandbox prepared, PreparedSandbox::prepare({}, Confined::kBody));
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0)
    return make_error(ErrorCode::kIo, "cannot make a pipe: {}", std::strerror(errno));
  const Descriptor reader(report[0]);
  Descriptor writer(report[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const Layers layers = prepared.enter(-1);
    ::_exit(::write(report[1], &layers, sizeof(layers)) == sizeof(layers) ? 0 : 1);
  }
  writer.reset();
  Layers layers;
  const bool read = child > 0 && ::read(reader.get(), &layers, sizeof(layers)) == sizeof(layers);
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (read && layers) return layers;
  return make_error(ErrorCode::kIo, "this machine lets no process enter a sandbox");
}

}  // namespace sluice
