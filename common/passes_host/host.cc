#include "common/passes_host/host.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "common/base/files.h"
#include "common/passes_host/child.h"
#include "common/passes_host/load_plugin.h"
#include "common/passes_host/pass_kind.h"
#include "common/passes_host/protocol.h"
#include "common/passes_host/run_program.h"
#include "common/passes_host/serve_passes.h"

namespace sluice {
namespace {

constexpr const char* kPackage = "sluice.graph.host";
constexpr uint64_t kParserBytes = 1u << 30;
constexpr int kGraceMs = 100;  // for a helper whose stage has gone

constexpr const char* kImports = R"(
import ast, os, sys
first = os.path.abspath(sys.argv[1])
root = os.path.dirname(first)
found, waiting = [], [first]
def names(node, folder):
    if isinstance(node, ast.Import):
        return [(root, alias.name.split(".")) for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    for _ in range(node.level - 1):
        folder = os.path.dirname(folder)
    base = folder if node.level else root
    module = node.module.split(".") if node.module else []
    return [(base, module)] + [(base, module + [alias.name]) for alias in node.names]
def files(base, parts):
    for end in range(len(parts) + 1):
        place = os.path.join(base, *parts[:end])
        for path in (place + ".py", os.path.join(place, "__init__.py")):
            if (end or base != root) and (path + "/").startswith(root + "/") \
                    and os.path.isfile(path):
                yield path
while waiting:
    path = waiting.pop()
    if path in found:
        continue
    found.append(path)
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        continue
    for node in ast.walk(tree):
        for base, parts in names(node, os.path.dirname(path)):
            waiting.extend(files(base, parts))
print("\n".join([found[0]] + sorted(found[1:])))
)";

std::string interpreter() {
  const char* chosen = std::getenv("SLUICE_PYTHON");
  return chosen == nullptr || *chosen == '\0' ? SLUICE_PYTHON : chosen;
}

// Returns the folder of the package: the build has it in lib, beside bin, an installation where
// Python looks for it.
std::string package_folder() {
  std::error_code failed;
  const auto own = std::filesystem::canonical("/proc/self/exe", failed).parent_path();
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

Result<void> serve_plugins(const HostRequest& request) {
  set_environment(request.limits);
  SLUICE_TRY(enter_pass_sandbox(request.files, {}));
  std::map<std::string, RunPass> plugins;
  for (const std::string& file : request.files) {
    SLUICE_ASSIGN(plugins[file], load_plugin(file));
  }
  return serve_passes(request.input, request.output,
                      [&](Module& module, const PassRequest& asked) -> Result<PassAnswer> {
                        const auto plugin = plugins.find(asked.file);
                        if (plugin != plugins.end()) return plugin->second(module, asked);
                        return make_error(ErrorCode::kBadReply, "'{}' is no plugin of this stage",
                                          asked.file);
                      });
}

// The helper in which passes run, so that this process can say how it ended, and end it.
pid_t start_helper(const HostRequest& request, bool is_python) {
  const pid_t parent = ::getpid(), child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  if (is_python) become_python(request);
  const auto served = serve_plugins(request);
  if (!served) static_cast<void>(send_error(request.output, served.error()).ok());
  ::_exit(0);
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
  setup.memory_bytes = kParserBytes;  // a worker has it done for files of others
  SLUICE_ASSIGN(const pid_t child,
                start_child({interpreter(), "-I", "-S", "-c", kImports, file}, setup));
  out.write.reset();
  const auto bytes = read_descriptor(out.read.get());
  const int status = wait_for_child(child);
  if (!bytes) return bytes.error();
  if (status == 0) return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return make_error(ErrorCode::kProgramMissing, "Python, '{}', {}", interpreter(),
                    status_text(status))
      .with_hint("SLUICE_PYTHON names the interpreter");
}

}  // namespace sluice
