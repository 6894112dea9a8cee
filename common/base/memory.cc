#include "common/base/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace sluice {
namespace {

thread_local int depth = 0;
// Replaced while memory is still available.
std::string last_line = "error SL1008: memory ran out\n";
std::string last_output;

void no_memory() {
  if (depth > 0) end_without_memory();
  throw std::bad_alloc();
}

constexpr char kMemoryHint[] =
    "make the inputs smaller, run fewer models at once, or give the process more memory";

constexpr size_t kStackBytes = size_t{1} << 20;
constexpr size_t kMinStackBytes = size_t{512} << 10;
constexpr size_t kStackStep = size_t{16} << 10;

// Recurses with frames that are touched at their far end, until `bytes` of the stack are used.
[[gnu::noinline]] void touch_stack(size_t bytes) {
  volatile char probe[kStackStep];
  probe[0] = 0;
  if (bytes > kStackStep) touch_stack(bytes - kStackStep);
  probe[1] = probe[0];  // keeps this frame alive during the call
}

size_t stack_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_STACK, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

}  // namespace

std::string memory_limit_text() {
  struct Kind {
    __rlimit_resource resource;
    const char* flag;
  };
  for (const Kind kind : {Kind{RLIMIT_AS, "-v"}, Kind{RLIMIT_DATA, "-d"}}) {
    rlimit limit{};
    if (::getrlimit(kind.resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      return fmt::format(", this process may have {} bytes (ulimit {})", limit.rlim_cur, kind.flag);
  }
  return {};
}

Error memory_error(const std::bad_alloc& failed, const std::string& who) {
  const auto* known = dynamic_cast<const MemoryRanOut*>(&failed);
  // This message is short enough to need no memory itself.
  if (who.empty() && known == nullptr) return make_error(ErrorCode::kLimit, "memory ran out");
  try {
    const std::string bytes = known == nullptr ? ""
                                               : fmt::format(": {} bytes more were wanted{}",
                                                             known->bytes(), memory_limit_text());
    return make_error(ErrorCode::kLimit, "{}{}memory ran out{}", who, who.empty() ? "" : ": ",
                      bytes)
        .with_hint(kMemoryHint);
  } catch (const std::bad_alloc&) {
    return make_error(ErrorCode::kLimit, "memory ran out");
  }
}

Error memory_error(uint64_t bytes, const std::string& what) {
  return make_error(ErrorCode::kLimit, "no memory for {}: {} bytes{}", what, bytes,
                    memory_limit_text())
      .with_hint(kMemoryHint);
}

Result<void> grow_stack() {
  const size_t limit = stack_limit();
  if (limit < kMinStackBytes) {
    return make_error(ErrorCode::kLimit, "the stack is limited to {} KiB, expected at least {}",
                      limit >> 10, kMinStackBytes >> 10)
        .with_hint("ulimit -s unlimited");
  }
  const size_t bytes = kStackBytes + (size_t{64} << 10);  // for the frames above it
  void* probe = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) return make_error(ErrorCode::kLimit, "memory ran out");
  ::munmap(probe, bytes);
  // Half of a small stack is left to what uses it already: arguments, environment and the current
  // frames.
  touch_stack(std::min(kStackBytes, limit / 2));
  return {};
}

void set_memory_error(std::string line, std::string output) {
  last_line = std::move(line);
  last_output = std::move(output);
}

void end_without_memory() {
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, last_line.data(), last_line.size());
  if (!last_output.empty())
    written = ::write(STDOUT_FILENO, last_output.data(), last_output.size());
  ::_exit(static_cast<int>(exit_class(ErrorCode::kLimit)));
}

EndWhenMemoryRunsOut::EndWhenMemoryRunsOut() {
  static const std::new_handler before = std::set_new_handler(no_memory);
  static_cast<void>(before);
  ++depth;
}

EndWhenMemoryRunsOut::~EndWhenMemoryRunsOut() { --depth; }

}  // namespace sluice
