#include "common/base/parallel.h"

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <new>

#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(ThreadCount, ZeroMeansOnePerCore) {
  EXPECT_EQ(thread_count(3), 3);
  EXPECT_GE(thread_count(0), 1);
}

TEST(ParallelFor, RunsEveryTurnOnce) {
  for (const int64_t threads : {0, 1, 3, 64}) {
    std::vector<std::atomic<int>> turns(1000);
    ASSERT_TRUE(parallel_for(turns.size(), threads, [&](size_t i) -> Result<void> {
      ++turns[i];
      return {};
    }));
    for (const std::atomic<int>& turn : turns) EXPECT_EQ(turn, 1);
  }
  EXPECT_TRUE(parallel_for(
      0, 4, [](size_t) -> Result<void> { return make_error(ErrorCode::kInternal, "no turn"); }));
}

TEST(ParallelFor, GivesTheLowestErrorWhateverTheThreads) {
  for (int again = 0; again < 50; ++again) {
    const auto done = parallel_for(1000, 4, [](size_t i) -> Result<void> {
      if (i % 100 == 37) return make_error(ErrorCode::kBadFile, "turn {}", i);
      return {};
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "turn 37");
  }
}

TEST(ParallelFor, BeginsNothingAfterAFailure) {
  std::atomic<int> turns{0};
  EXPECT_FALSE(parallel_for(1'000'000, 1, [&](size_t i) -> Result<void> {
    ++turns;
    if (i == 5) return make_error(ErrorCode::kBadFile, "five");
    return {};
  }));
  EXPECT_EQ(turns, 6);
}

TEST(ParallelFor, ExhaustedMemoryOfAnyThreadIsAnError) {
  const auto done = parallel_for(64, 4, [](size_t) -> Result<void> { throw std::bad_alloc(); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kLimit);
  EXPECT_EQ(exit_class(done.error().code), ExitClass::kResource);
}

TEST(ParallelFor, AThreadThatCannotStartIsAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is beyond the limit";
#endif
  const auto beyond_limit = [] {
    const rlimit none{0, 0};
    // There is no stack for a new thread except those kept from earlier threads.
    ::setrlimit(RLIMIT_DATA, &none);
    const auto done = parallel_for(1000, 1000, [](size_t) -> Result<void> {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return {};
    });
    std::_Exit(!done && done.error().code == ErrorCode::kLimit ? 0 : 1);
  };
  EXPECT_EXIT(beyond_limit(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice
