#include "common/passes_host/host.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "common/base/files.h"
#include "common/passes_host/child.h"
#include "common/passes_host/pass_kind.h"
#include "common/passes_host/protocol.h"
#include "common/passes_host/run_program.h"
#include "common/passes_host/serve_plugins.h"

namespace sluice {
namespace {

constexpr const char* kPackage = "sluice.graph.host";
constexpr uint64_t kParserBytes = 1u << 30;
constexpr int kGraceMs = 100;  // for a helper whose stage has gone

constexpr std::string_view kCompilerLibrary = "libsluice_compiler.so";
constexpr std::string_view kPluginHeader = "common/passes_host/plugin.h";

std::filesystem::path own_folder() {
  std::error_code failed;
  return std::filesystem::canonical("/proc/self/exe", failed).parent_path();
}

std::string interpreter() {
  const char* chosen = std::getenv("SLUICE_PYTHON");
  return chosen == nullptr || *chosen == '\0' ? SLUICE_PYTHON : chosen;
}

// Returns the folder of the package: the build has it in lib, beside bin, an installation where
// Python looks for it.
std::string package_folder() {
  std::error_code failed;
  const auto own = own_folder();
  const auto installed = own.parent_path() / "lib/python3/dist-packages";
  const bool is_installed = std::filesystem::exists(installed / "sluice" / "graph", failed);
  return (is_installed ? installed : own.parent_path() / "lib").string();
}

// ---- programs

Result<void> serve_programs(const HostRequest& request) {
  while (true) {
    SLUICE_ASSIGN(const auto asked, read_request(request.input));
    if (!asked) return {};
    const ProgramPass program{.path = asked->request.file,
                              .memory_bytes = request.limits.memory_bytes,
                              .is_sandboxed = request.confines_programs,
                              .readable = request.limits.readable,
                              .stage = request.input};
    if (std::ranges::find(request.files, program.path) == request.files.end())
      return make_error(ErrorCode::kBadReply, "'{}' is no program of this stage", program.path);
    const auto made = run_program(program, asked->graph);
    if (!made) {
      SLUICE_TRY(send_error(request.output, made.error()));
      continue;
    }
    if (!*made) return {};
    PassAnswer answer;
    answer.changed = **made != asked->graph;
    SLUICE_TRY(
        send_answer(request.output, answer, answer.changed ? **made : std::vector<std::byte>()));
  }
}

// ---- Python and plugins

[[noreturn]] void become_python(const HostRequest& request) {
  set_environment(request.limits);
  std::string path = package_folder();
  if (const char* before = std::getenv("PYTHONPATH"); before != nullptr && *before != '\0')
    path += std::string(":") + before;
  ::setenv("PYTHONPATH", path.c_str(), 1);
  // A thread that runs already would be outside of the sandbox.
  for (const char* threads : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"})
    ::setenv(threads, "1", 1);
  ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  ::setenv("PYTHONSAFEPATH", "1", 1);  // nothing is imported from the working directory
  std::vector<std::string> words = {interpreter(), "-m", kPackage, std::to_string(request.input),
                                    std::to_string(request.output)};
  words.insert(words.end(), request.files.begin(), request.files.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  const Error error = make_error(ErrorCode::kProgramMissing, "cannot start Python, '{}'", words[0])
                          .with_hint("SLUICE_PYTHON names the interpreter");
  ::_exit(send_error(request.output, error) ? 0 : 1);
}

// The folder of libsluice_compiler.so: lib beside bin, or one of lib for an architecture.
std::string library_folder() {
  std::error_code failed;
  const auto lib = own_folder().parent_path() / "lib";
  for (const auto& each : std::filesystem::directory_iterator(lib, failed))
    if (std::filesystem::exists(each.path() / kCompilerLibrary, failed)) return each.path();
  return lib;
}

// Plugins get graphs of the library that they link, not of this program.
[[noreturn]] void become_plugins(const HostRequest& request) {
  set_environment(request.limits);
  const std::string path = library_folder() + "/" + std::string(kCompilerLibrary);
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* const serve = library == nullptr ? nullptr : ::dlsym(library, "sluice_serve_plugins");
  if (serve == nullptr) {
    const Error error = make_error(ErrorCode::kProgramMissing, "cannot open {}: {}", path,
                                   library == nullptr ? ::dlerror() : "it is of another release")
                            .with_hint("install sluice-compiler anew");
    ::_exit(send_error(request.output, error) ? 0 : 1);
  }
  std::vector<const char*> files;
  for (const std::string& file : request.files) files.push_back(file.c_str());
  ::_exit(reinterpret_cast<decltype(&sluice_serve_plugins)>(serve)(request.input, request.output,
                                                                   files.data(), files.size()));
}

// The helper in which passes run, so that this process can say how it ended, and end it.
pid_t start_helper(const HostRequest& request, bool is_python) {
  const pid_t parent = ::getpid(), child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  if (is_python) become_python(request);
  become_plugins(request);
}

Result<void> serve_code(const HostRequest& request, bool is_python) {
  const pid_t child = start_helper(request, is_python);
  if (child < 0) return make_error(ErrorCode::kIo, "no process can be started");
  const Descriptor process = child_handle(child);
  pollfd entries[] = {{process.get(), POLLIN, 0}, {request.input, 0, 0}};
  while (::poll(entries, 2, -1) < 0 && errno == EINTR) {
  }
  int status = 0;
  const bool is_over = has_ended_within(child, entries[0].revents != 0 ? 0 : kGraceMs, status);
  if (!is_over) kill_children();
  if (!is_over || entries[1].revents != 0 || status == 0) return {};
  return send_error(request.output, make_error(ErrorCode::kPassFailed, "{}", status_text(status)));
}

}  // namespace

Result<void> run_host(const HostRequest& request) {
  for (const int fd : {request.input, request.output}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  adopt_orphans();
  bool has_programs = false, has_python = false, has_plugins = false;
  for (const std::string& file : request.files) {
    SLUICE_ASSIGN(const PassKind kind, pass_kind(file));
    has_programs = has_programs || kind == PassKind::kProgram;
    has_python = has_python || kind == PassKind::kPython;
    has_plugins = has_plugins || kind == PassKind::kPlugin;
  }
  if (!has_programs) {
    for (const int fd : {request.input, request.output}) ::fcntl(fd, F_SETFD, 0);
    return serve_code(request, has_python);
  }
  if (has_python || has_plugins)
    return make_error(ErrorCode::kUsage, "programs are not run beside Python and plugins");
  return serve_programs(request);
}

Result<std::string> listed_files(const std::string& file) {
  SLUICE_ASSIGN(const PassKind kind, pass_kind(file));
  if (kind != PassKind::kPython) return absolute_path(file) + "\n";
  SLUICE_ASSIGN(PipeEnds out, make_pipe_ends());
  ChildSetup setup;
  setup.out = out.write.get();
  const std::string imports = package_folder() + "/sluice/graph/imports.py";
  setup.memory_bytes = kParserBytes;  // a worker has it done for files of others
  SLUICE_ASSIGN(const pid_t child,
                start_child({interpreter(), "-I", "-S", imports, absolute_path(file)}, setup));
  out.write.reset();
  const auto bytes = read_descriptor(out.read.get());
  const int status = wait_for_child(child);
  if (!bytes) return bytes.error();
  if (status == 0) return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return make_error(ErrorCode::kProgramMissing, "Python, '{}', {}", interpreter(),
                    status_text(status))
      .with_hint("SLUICE_PYTHON names the interpreter");
}

Result<std::string> plugin_flags() {
  std::error_code failed;
  const auto prefix = own_folder().parent_path();
  // An installation, or a build below out/ of the clone.
  for (const auto& headers : {prefix / "include/sluice", prefix.parent_path().parent_path()})
    if (std::filesystem::exists(headers / kPluginHeader, failed))
      return fmt::format("-I{} -L{} -lsluice_compiler\n", headers.string(), library_folder());
  return make_error(ErrorCode::kNotFound, "there is no {} below '{}'", kPluginHeader,
                    prefix.string())
      .with_hint("install sluice-compiler");
}

}  // namespace sluice
