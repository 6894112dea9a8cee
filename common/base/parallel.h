// Threads of the compiler: a loop whose iterations they share, and threads that live as long as
// their scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "common/base/result.h"

namespace sluice {

// Returns the number of threads for --threads=asked: asked, or one per core that the process may
// use when it is 0.
int64_t thread_count(int64_t asked);

// Runs job(i) for every i < count on at most `threads` threads, the caller's among them. Jobs start
// in the order of i and run at the same time, so a job writes only what is its own. No job starts
// after a failure. Returns the error of the lowest i that fails, independent of the timing;
// exhausted memory, of a job or of a new thread, is kLimit.
Result<void> parallel_for(size_t count, int64_t threads,
                          const std::function<Result<void>(size_t)>& job);

// Threads that are joined at the end of their scope.
class Threads {
 public:
  Threads() = default;
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  // Starts a thread. Errors: kLimit when memory or threads are exhausted. body must not throw: it
  // handles exhausted memory itself (within_memory).
  Result<void> start(std::function<void()> body);

 private:
  std::vector<std::thread> threads_;
};

}  // namespace sluice
