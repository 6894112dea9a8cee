#include "common/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "common/base/cores.h"
#include "common/base/memory.h"

namespace sluice {

int64_t thread_count(int64_t asked) { return asked > 0 ? asked : usable_cores(); }

Result<void> parallel_for(size_t count, int64_t threads,
                          const std::function<Result<void>(size_t)>& job) {
  std::atomic<size_t> next{0};
  std::mutex mutex;  // guards the next two
  size_t failed = count;
  Result<void> result;
  const auto work = [&] {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      Result<void> done = within_memory([&] { return job(i); });
      if (done) continue;
      // Every lower i has been taken already, so the lowest failure is always found.
      next.store(count);
      const std::lock_guard lock(mutex);
      if (i > failed) continue;
      failed = i;
      result = std::move(done);
    }
  };
  Result<void> started;
  {
    Threads others;
    const size_t wanted = std::min(static_cast<size_t>(std::max<int64_t>(threads, 1)), count);
    for (size_t i = 1; i < wanted && started; ++i) started = others.start(work);
    if (!started) next.store(count);
    work();
  }
  return started ? std::move(result) : std::move(started);
}

Threads::~Threads() {
  for (std::thread& thread : threads_) thread.join();
}

Result<void> Threads::start(std::function<void()> body) {
  return within_memory([&]() -> Result<void> {
    threads_.reserve(threads_.size() + 1);  // a thread that cannot be stored could not be joined
    threads_.emplace_back(std::move(body));
    return {};
  });
}

}  // namespace sluice
