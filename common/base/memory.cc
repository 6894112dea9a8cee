#include "common/base/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace sluice {
namespace {

thread_local int depth = 0;
std::string last_line = "error SL1008: memory ran out\n";  // replaced while there is memory

void no_memory() {
  if (depth > 0) end_without_memory();
  throw std::bad_alloc();
}

constexpr size_t kStackBytes = size_t{1} << 20;

[[gnu::noinline]] void touch_stack() {
  [[maybe_unused]] volatile char room[kStackBytes];
  room[0] = 0;  // its far end; the pages between stay untouched
}

}  // namespace

Result<void> grow_stack() {
  const size_t bytes = kStackBytes + (size_t{64} << 10);  // and frames around it
  void* room = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return make_error(ErrorCode::kLimit, "memory ran out");
  ::munmap(room, bytes);
  touch_stack();
  return {};
}

void set_memory_error_line(std::string line) { last_line = std::move(line); }

void end_without_memory() {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, last_line.data(), last_line.size());
  ::_exit(static_cast<int>(exit_class(ErrorCode::kLimit)));
}

EndWhenMemoryRunsOut::EndWhenMemoryRunsOut() {
  static const std::new_handler before = std::set_new_handler(no_memory);
  static_cast<void>(before);
  ++depth;
}

EndWhenMemoryRunsOut::~EndWhenMemoryRunsOut() { --depth; }

}  // namespace sluice
