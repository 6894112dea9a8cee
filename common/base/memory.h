// Exhausted memory, reported as an error like any other.
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "common/base/result.h"

namespace sluice {

// A failed allocation and its number of bytes.
class MemoryRanOut : public std::bad_alloc {
 public:
  explicit MemoryRanOut(uint64_t bytes) : bytes_(bytes) {}
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_;
};

// Returns the error of a failed allocation: the bytes where they are known, the limits of the
// process, and a hint. who is "node 'x'", or empty.
Error memory_error(const std::bad_alloc& failed, const std::string& who = {});
// Returns "no memory for WHAT: 4096 bytes, …", for a failed mmap and similar calls.
Error memory_error(uint64_t bytes, const std::string& what);
// Returns ", this process may have 1048576 bytes (ulimit -v)", or an empty text when it has no
// limit.
std::string memory_limit_text();

// Returns the result of body(), or kLimit when an allocation in it failed or was larger than any
// can be, or a thread could not be started. Catches on the calling thread only; parallel.h does it
// for other threads.
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

// Does the same; label() names what ran out of memory, a node for example.
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

// Extends the stack of the calling thread now, while it can still be reported that there is no
// memory for it: a stack that cannot grow later kills the process.
Result<void> grow_stack();

// Runs the main function of a program within_memory.
template <typename Body>
auto program_within_memory(Body&& body) -> decltype(body()) {
  return within_memory([&]() -> decltype(body()) {
    SLUICE_TRY(grow_stack());
    return body();
  });
}

// While one is in scope, an allocation that fails on this thread ends the process at once with
// kLimit's exit code and the line set below on stderr, instead of throwing. It is for third-party
// code that exceptions cannot pass.
class EndWhenMemoryRunsOut {
 public:
  EndWhenMemoryRunsOut();
  ~EndWhenMemoryRunsOut();
  EndWhenMemoryRunsOut(const EndWhenMemoryRunsOut&) = delete;
  EndWhenMemoryRunsOut& operator=(const EndWhenMemoryRunsOut&) = delete;
};
// Sets the line, and the bytes for standard output, which the next program of a pipe reads. Must be
// called before any other thread starts.
void set_memory_error(std::string line, std::string output = {});
[[noreturn]] void end_without_memory();

}  // namespace sluice
