// Memory that runs out, as an error like any other.
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "common/base/result.h"

namespace sluice {

// An allocation that failed, and of how many bytes.
class MemoryRanOut : public std::bad_alloc {
 public:
  explicit MemoryRanOut(uint64_t bytes) : bytes_(bytes) {}
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_;
};

// The error of memory that could not be had: the bytes where they are known, the process's limits,
// what may help. who: "node 'x'", or empty.
Error memory_error(const std::bad_alloc& failed, const std::string& who = {});
// For a failed mmap or the like: "no memory for WHAT: 4096 bytes, …".
Error memory_error(uint64_t bytes, const std::string& what);
// ", this process may have 1048576 bytes (ulimit -v)"; empty when it is not limited.
std::string memory_limit_text();

// What body() gives; kLimit where an allocation below it failed or was larger than any can be, or
// where a thread could not be started. Catches on the calling thread only: for others, see
// parallel.h.
template <typename Body>
auto within_memory(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc& failed) {
    return memory_error(failed);
  } catch (const std::length_error&) {
    return make_error(ErrorCode::kLimit, "memory ran out: a size exceeds what can be allocated");
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
    return make_error(ErrorCode::kLimit, "no more threads");
  }
}

// The same where label() names what ran out of it, a node for example.
template <typename Body, typename Label>
auto within_memory(Body&& body, Label&& label) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc& failed) {
    return memory_error(failed, label());
  } catch (const std::length_error&) {
    return make_error(ErrorCode::kLimit, "{}: memory ran out: a size exceeds what can be allocated",
                      label());
  }
}

// Makes room for the calling thread's stack now, when a lack of it can still be told: a stack that
// cannot grow later kills the process.
Result<void> grow_stack();

// within_memory for the main function of a program.
template <typename Body>
auto program_within_memory(Body&& body) -> decltype(body()) {
  return within_memory([&]() -> decltype(body()) {
    SLUICE_TRY(grow_stack());
    return body();
  });
}

// While one is in scope, an allocation that fails on this thread ends the process at once, with the
// line set below on stderr and kLimit's exit code, instead of throwing: for code of others that
// exceptions cannot pass.
class EndWhenMemoryRunsOut {
 public:
  EndWhenMemoryRunsOut();
  ~EndWhenMemoryRunsOut();
  EndWhenMemoryRunsOut(const EndWhenMemoryRunsOut&) = delete;
  EndWhenMemoryRunsOut& operator=(const EndWhenMemoryRunsOut&) = delete;
};
// output: for standard output, where the next program of a pipe reads. Before any other thread.
void set_memory_error(std::string line, std::string output = {});
[[noreturn]] void end_without_memory();

}  // namespace sluice
