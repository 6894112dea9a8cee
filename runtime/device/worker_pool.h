// The threads of the process that run the blocks of launches, and the slots of the threads that
// walk runs, which run blocks too. With a width of T at most T of them are busy: T - 1 threads are
// the pool's own, a walker beyond the T-th waits for a slot, and each walker beyond the first keeps
// one of the pool's own threads idle, after waiting for the end of its current block.
//
// Threads look for work for at most 20 µs, then sleep. Everything here is safe to call from any
// thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
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

  // See Device. limit: the maximum number of threads that run the launch, its walker included.
  int begin(const Launch& launch, int limit);
  void help(int slot, Scratch& scratch);
  bool finished(int slot) const;
  void wait_any(std::span<const int> slots);
  void end(int slot);

 private:
  static constexpr int kWalker = -1;  // in place of the index of an own thread: always may work

  // users counts the pool's threads that look at the slot. A thread increments it, then checks
  // whether the slot's bit in open_ is (still) set, and only then reads launch. The thread that
  // takes the last block clears the bit before it leaves; so once all blocks are taken and users is
  // 0, nobody reads the slot and nobody will until it is opened again.
  struct alignas(64) Slot {
    std::atomic<uint32_t> users{0};
    std::atomic<int> limit{0};  // read without being counted in, it may be that of a launch before
    alignas(64) std::atomic<uint32_t> next{0};
    Launch launch;
  };

  struct alignas(64) Worker {
    std::atomic<bool> is_busy{false};
  };

  void work(int index, Worker& me);
  bool work_once(int index, Worker& me, Scratch& scratch);
  void sleep(int index);
  void run_blocks(int slot, Scratch& scratch, int index);
  void leave_slot(int slot);
  bool may_work(int index) const {
    return index == kWalker || index + walkers_.load() < width_.load(std::memory_order_relaxed);
  }
  bool may_join(int slot, int index) const {
    return index + 1 < slots_[slot].limit.load(std::memory_order_relaxed);
  }
  uint64_t open_to(int index) const;
  bool is_anyone_barred_busy() const;
  void wake_workers(const Launch& launch, int limit);

  std::unique_ptr<Slot[]> slots_;               // kSlots, made before the first thread starts
  alignas(64) std::atomic<uint64_t> open_{0};   // slots with blocks to take
  alignas(64) std::atomic<uint64_t> taken_{0};  // slots in use
  alignas(64) std::atomic<int> walkers_{0};     // that have a slot
  std::atomic<int> width_{1};
  std::atomic<int> started_{0};
  std::atomic<int> sleepers_{0};  // own threads asleep
  std::atomic<int> joiners_{0};   // walkers asleep in wait_any
  int standing_ = 0;              // walkers asleep in sit; guarded by mutex_
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable work_came_;
  std::condition_variable launch_ended_;
  std::condition_variable slot_released_;
  std::vector<std::unique_ptr<Worker>> workers_;  // by index; guarded by mutex_
  Threads threads_;  // the last member: they use the others until they have ended
};

}  // namespace sluice
