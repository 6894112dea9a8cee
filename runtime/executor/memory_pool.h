// Memory for the values that the walk over a root makes, whose sizes differ from run to run. It
// belongs to a run object and is kept from one run to the next, so that runs of sizes that occurred
// before ask the system for nothing.
//
// First level: a list of free pieces for each size class, which are quarter steps between powers of
// two, cut from slabs. Second level: above kMaxCut a piece is a slab of its own, a power of two:
// the memory left over by increasing sizes is then at most what the sizes themselves need. A piece
// returns to the list of its class and is never merged, so the memory taken depends on sizes alone,
// not on their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <mutex>
#include <vector>

namespace sluice {

struct MemoryCounters {
  uint64_t held_bytes = 0;      // taken from the system and not returned
  uint64_t held_slabs = 0;      // the number of slabs
  uint64_t used_bytes = 0;      // of pieces in use
  uint64_t max_used_bytes = 0;  // the maximum so far
  uint64_t system_calls = 0;    // slabs taken so far
  bool operator==(const MemoryCounters&) const = default;
};

class MemoryPool : public std::pmr::memory_resource {
 public:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kSlabBytes = size_t{256} << 10;
  static constexpr size_t kMaxCut = kSlabBytes / 4;

  // blocks: the resource that slabs are allocated from.
  explicit MemoryPool(std::pmr::memory_resource* blocks = std::pmr::new_delete_resource())
      : system_(blocks) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool() override;  // every piece must be free by then

  MemoryCounters counters() const;
  static size_t piece_bytes(size_t bytes);  // the size class: what a request really takes

 private:
  struct Free {
    Free* next;
  };

  void* do_allocate(size_t bytes, size_t alignment) override;  // alignment: at most kAlignment
  void do_deallocate(void* memory, size_t bytes, size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
  void* take(size_t piece);
  void* cut(size_t piece);
  void* take_slab(size_t bytes);
  void* allocate_again(size_t bytes);
  void give_back_idle();

  mutable std::mutex mutex_;  // values may end on another thread than the run's
  std::pmr::memory_resource* system_;
  std::map<size_t, Free*> free_;    // by piece size; a class stays once it is there
  std::vector<void*> slabs_;        // of kSlabBytes
  std::byte* remainder_ = nullptr;  // of the last one
  size_t remainder_bytes_ = 0;
  MemoryCounters counters_;
};

}  // namespace sluice
