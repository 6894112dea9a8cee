// Threads as the compiler uses them: a loop whose turns they share, and threads that live as long
// as their scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "common/base/result.h"

namespace sluice {

// The number of threads that --threads=asked means: asked, or one per core that the process may use
// when it is 0.
int64_t thread_count(int64_t asked);

// Runs job(i) for every i < count, in the order of i, on at most `threads` threads, the caller's
// among them. After a failure no job is begun any more. Returns the error of the lowest i that
// fails, whatever the threads do; exhausted memory, of a job or of a new thread, is kLimit. job is
// called by several threads at once.
Result<void> parallel_for(size_t count, int64_t threads,
                          const std::function<Result<void>(size_t)>& job);

// Threads that are waited for at the end of their scope.
class Threads {
 public:
  Threads() = default;
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  // Error: kLimit when there is no memory or no thread for it. body must not throw: it meets
  // exhausted memory itself (within_memory).
  Result<void> start(std::function<void()> body);

 private:
  std::vector<std::thread> threads_;
};

}  // namespace sluice
