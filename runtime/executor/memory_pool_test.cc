#include "runtime/executor/memory_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <random>
#include <span>

namespace sluice {
namespace {

// Allocates so many bytes and no more.
class Limited : public std::pmr::memory_resource {
 public:
  explicit Limited(size_t left) : left_(left) {}
  size_t left() const { return left_; }

 private:
  void* do_allocate(size_t bytes, size_t alignment) override {
    if (bytes > left_) throw std::bad_alloc();
    left_ -= bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* memory, size_t bytes, size_t alignment) override {
    left_ += bytes;
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  size_t left_;
};

TEST(MemoryPool, ClassesAreQuarterStepsThenPowersOfTwo) {
  for (const auto& [bytes, piece] : std::vector<std::pair<size_t, size_t>>{{0, 64},
                                                                           {1, 64},
                                                                           {64, 64},
                                                                           {65, 128},
                                                                           {257, 320},
                                                                           {1025, 1280},
                                                                           {1281, 1536},
                                                                           {65536, 65536},
                                                                           {65537, 131072},
                                                                           {3 << 20, 4 << 20}}) {
    EXPECT_EQ(MemoryPool::piece_bytes(bytes), piece);
  }
  for (size_t bytes = 257; bytes < MemoryPool::kMaxCut; bytes += 37)
    EXPECT_LE(MemoryPool::piece_bytes(bytes), bytes * 5 / 4 + 1);
}

// Allocates as the runs of a model do: some values at once, of sizes that depend on the run's size,
// freed in another order.
void run_once(MemoryPool& pool, size_t size) {
  std::vector<std::span<std::byte>> values;
  for (size_t i = 1; i <= 12; ++i) {
    const size_t bytes = size * i * i * 17;
    values.emplace_back(static_cast<std::byte*>(pool.allocate(bytes, 64)), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(values.back().data()) % 64, 0U);
    std::memset(values.back().data(), static_cast<int>(i), bytes);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto expected = static_cast<std::byte>(i + 1);  // nobody else wrote there
    EXPECT_TRUE(std::all_of(values[i].begin(), values[i].end(),
                            [&](std::byte each) { return each == expected; }));
  }
  std::reverse(values.begin() + 3, values.end());
  for (const auto& value : values) pool.deallocate(value.data(), value.size(), 64);
}

TEST(MemoryPool, SizesSeenBeforeTakeNothingFromTheSystem) {
  MemoryPool pool;
  for (size_t size = 1; size <= 100; ++size) run_once(pool, size);
  const MemoryCounters seen = pool.counters();
  EXPECT_EQ(seen.used_bytes, 0U);
  EXPECT_GE(seen.held_bytes, seen.max_used_bytes);
  EXPECT_EQ(seen.system_calls, seen.held_slabs);
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) run_once(pool, random() % 100 + 1);
  EXPECT_EQ(pool.counters(), seen);
}

TEST(MemoryPool, IdleSlabsGoBackBeforeMemoryRunsOut) {
  constexpr size_t kMega = 1 << 20;
  Limited system(5 * kMega);
  {
    MemoryPool pool(&system);
    void* small = pool.allocate(100, 64);
    pool.deallocate(pool.allocate(2 * kMega, 64), 2 * kMega, 64);
    void* large = pool.allocate(4 * kMega, 64);
    EXPECT_THROW(static_cast<void>(pool.allocate(kMega, 64)), std::bad_alloc);
    EXPECT_EQ(pool.counters().held_bytes, 4 * kMega + MemoryPool::kSlabBytes);
    EXPECT_EQ(pool.counters().held_slabs, 2U);
    pool.deallocate(large, 4 * kMega, 64);
    pool.deallocate(small, 100, 64);
    volatile size_t all = SIZE_MAX;  // which a compiler would refuse to allocate
    EXPECT_THROW(static_cast<void>(pool.allocate(all, 64)), std::bad_alloc);
  }
  EXPECT_EQ(system.left(), 5 * kMega);
}

}  // namespace
}  // namespace sluice
