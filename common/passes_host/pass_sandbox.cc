#include "common/passes_host/pass_sandbox.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "common/base/files.h"
#include "common/sandbox/sandbox.h"

namespace sluice {
namespace {

constexpr const char* kMemory = "SLUICE_PASS_MEMORY";
constexpr const char* kReadable = "SLUICE_PASS_READABLE";

size_t thread_count_here() {
  std::error_code failed;
  size_t count = 0;
  for (auto each = std::filesystem::directory_iterator("/proc/self/task", failed);
       !failed && each != std::filesystem::directory_iterator(); each.increment(failed))
    ++count;
  return count;
}

std::string folder_of(const std::string& file) {
  return std::filesystem::path(absolute_path(file)).parent_path().string();
}

}  // namespace

PassLimits pass_limits_of_environment() {
  PassLimits limits;
  if (const char* memory = std::getenv(kMemory))
    std::from_chars(memory, memory + std::strlen(memory), limits.memory_bytes);
  const char* readable = std::getenv(kReadable);
  std::string_view left = readable == nullptr ? "" : readable;
  while (!left.empty()) {
    const size_t end = std::min(left.find('\n'), left.size());
    if (end > 0) limits.readable.emplace_back(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return limits;
}

void set_environment(const PassLimits& limits) {
  std::string readable;
  for (const std::string& path : limits.readable) readable += path + "\n";
  ::setenv(kMemory, std::to_string(limits.memory_bytes).c_str(), 1);
  ::setenv(kReadable, readable.c_str(), 1);
}

Result<Layers> enter_pass_sandbox(const std::vector<std::string>& files,
                                  const std::vector<std::string>& readable) {
  if (const size_t threads = thread_count_here(); threads > 1) {
    return make_error(ErrorCode::kInternal, "{} threads run before the sandbox is entered",
                      threads);
  }
  PassLimits limits = pass_limits_of_environment();
  Sandbox sandbox;
  sandbox.readable = std::move(limits.readable);
  sandbox.memory_bytes = limits.memory_bytes;
  sandbox.readable.insert(sandbox.readable.end(), readable.begin(), readable.end());
  for (const std::string& file : files) sandbox.readable.push_back(folder_of(file));
  SLUICE_ASSIGN(PreparedSandbox prepared, PreparedSandbox::prepare(sandbox, Confined::kBody));
  const Layers layers = prepared.enter(-1);
  if (layers) return layers;
  return make_error(ErrorCode::kIo, "the sandbox of passes cannot be entered: {}",
                    std::strerror(errno));
}

}  // namespace sluice
