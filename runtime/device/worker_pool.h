// The threads of the process that run the blocks of launches, and the slots of the threads that
// walk runs, which run blocks too. With a width of T at most T of them are busy: T - 1 threads are
// the pool's own, a walker beyond the T-th waits for a slot, and each walker beyond the first keeps
// one of the pool's own threads idle, after waiting for the end of the blocks that it has taken.
//
// A walker runs all blocks that no other thread has taken, and waits only for threads that are
// inside a block; a thread that has not taken any yet costs it nothing. Threads look for work for
// at most 20 µs, then sleep. Everything here is safe to call from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "common/base/parallel.h"
#include "runtime/device/launch.h"

namespace sluice {

class WorkerPool {
 public:
  static constexpr int kSlots = 64;

  WorkerPool() = default;
  ~WorkerPool();  // no run may be in progress
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void set_width(int threads);  // T >= 1
  bool has_threads(int threads) const {
    return started_.load(std::memory_order_acquire) + 1 >= threads;
  }
  // Starts those of the first `threads` - 1 threads that do not exist yet. Error: kLimit when they
  // cannot be started.
  Result<void> start_threads(int threads);

  void acquire_slot();  // waits for a slot
  void release_slot();
  bool is_crowded() const { return standing_.load() > 0; }  // some thread waits for a slot

  // See Device. limit: the maximum number of threads that run the launch, its walker included.
  int begin(const Launch& launch, int limit);
  uint32_t help(int slot, Scratch& scratch);
  bool finished(int slot) const;
  void wait_any(std::span<const int> slots);
  void end(int slot);

 private:
  static constexpr int kWalker = -1;  // in place of the index of an own thread: always may work

  // What is left of a launch: the blocks that no thread has taken, and the maximum number of
  // threads. One word, so that a thread takes blocks of a launch that it may join or none.
  struct Offer {
    static Offer of(uint64_t word) {
      return {static_cast<uint32_t>(word), static_cast<int>(word >> 32)};
    }
    uint64_t word() const { return static_cast<uint64_t>(limit) << 32 | blocks; }
    bool is_for(int index) const { return blocks > 0 && index + 1 < limit; }

    uint32_t blocks = 0;
    int limit = 0;
  };

  // A thread reads launch only while it has blocks of it, whose number it adds to done when it
  // takes no more. So the launch stays what it is until every block is done, and then nobody reads
  // it. Whoever takes the last blocks clears the slot's bit in open_ before running them.
  struct alignas(64) Slot {
    std::atomic<uint64_t> offer{0};             // an Offer
    alignas(64) std::atomic<uint32_t> done{0};  // blocks that the pool's own threads have run
    alignas(64) Launch launch;
    uint32_t walkers_blocks = 0;  // that the walker has run, who alone reads it
  };

  // Blocks that one thread has taken at once.
  struct Blocks {
    uint32_t begin = 0;
    uint32_t end = 0;
  };

  struct alignas(64) Worker {
    std::atomic<bool> is_busy{false};
    bool is_asleep = false;         // guarded by mutex_
    std::condition_variable woken;  // is_asleep has become false
  };

  void work(int index, Worker& me);
  bool work_once(int index, Worker& me, Scratch& scratch);
  void sleep(int index, Worker& me);
  std::optional<Blocks> take(int slot, int index);
  uint32_t run_blocks(int slot, Scratch& scratch, int index);
  void finish_blocks(int slot, uint32_t blocks);
  bool may_work(int index) const {
    return index == kWalker || index + walkers_.load() < width_.load(std::memory_order_relaxed);
  }
  uint64_t open_to(int index) const;
  bool is_anyone_barred_busy() const;
  void wake_workers(uint32_t count, int limit);
  bool wake(int index);

  std::unique_ptr<Slot[]> slots_;               // kSlots, made before the first thread starts
  alignas(64) std::atomic<uint64_t> open_{0};   // slots with blocks to take
  alignas(64) std::atomic<uint64_t> taken_{0};  // slots in use
  alignas(64) std::atomic<int> walkers_{0};     // that have a slot
  std::atomic<int> width_{1};
  std::atomic<int> started_{0};
  std::atomic<int> sleepers_{0};  // own threads asleep
  std::atomic<int> joiners_{0};   // walkers asleep in wait_any
  std::atomic<int> standing_{0};  // walkers that wait for a slot
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable launch_ended_;
  std::condition_variable slot_released_;
  std::vector<std::unique_ptr<Worker>> workers_;  // by index; guarded by mutex_
  Threads threads_;  // the last member: they use the others until they have ended
};

}  // namespace sluice
