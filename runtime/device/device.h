// The CPU as a device: T threads that run the blocks of launches. T - 1 of them are the device's own, shared by all runs; the others are
// the threads that walk runs, which work too. At most T are busy: a walker beyond the T-th waits for a seat, and each seated walker keeps
// one of the device's own threads idle (one that is inside a block when the walker sits down stops after that block).
//
// Threads look for work for at most 20 µs, then sleep. Everything here is safe to call from any thread.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "common/base/parallel.h"
#include "runtime/device/launch.h"

namespace sluice {

class Device {
 public:
  static Result<std::shared_ptr<Device>> make(int threads);  // T >= 1. Error: kLimit when the threads cannot be had
  ~Device();                                                 // no run may be in progress
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int threads() const { return threads_; }

  // The right of a walking thread to work on the device, while in scope. Waits while T walkers are seated.
  class Seat {
   public:
    explicit Seat(Device& device) : device_(device) { device_.sit(); }
    ~Seat() { device_.rise(); }
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

   private:
    Device& device_;
  };

  // Puts a launch in flight; its operands must live until end(). Returns its slot, or -1 when 64 are in flight already.
  int begin(const Launch& launch);
  void help(int slot, Scratch& scratch);  // runs blocks of it on the calling thread until none is left to take
  // Every block has run. Once true, the launch is over; asked again, it may be false for a moment, while a thread looks in vain for blocks.
  bool finished(int slot) const;
  void wait_any(std::span<const int> slots);  // until one of them has been finished
  void end(int slot);                         // gives the slot of a finished launch back; the slot is the caller's no more

  static constexpr int kSlots = 64;

 private:
  static constexpr int kWalker = -1;  // in place of the index of an own thread: always may work

  // users counts the device's threads that look at the slot. A thread counts itself in, then looks whether the slot's bit in open_ is
  // (still) set, and only then reads launch. The bit is cleared by whoever takes the last block, before it leaves; so once all blocks are
  // taken and users is 0, nobody reads the slot and nobody will until it is opened again.
  struct alignas(64) Slot {
    std::atomic<uint32_t> users{0};
    alignas(64) std::atomic<uint32_t> next{0};
    Launch launch;
  };

  explicit Device(int threads) : threads_(threads) {}
  void work(int index);
  bool work_once(int index, Scratch& scratch);
  void sleep(int index);
  void run_blocks(int slot, Scratch& scratch, int index);
  bool may_work(int index) const { return index == kWalker || index + walkers_.load(std::memory_order_relaxed) < threads_; }
  bool has_work(int index) const { return may_work(index) && open_.load() != 0; }
  void wake_workers(uint32_t blocks);
  void sit();
  void rise();

  const int threads_;
  std::array<Slot, kSlots> slots_;
  alignas(64) std::atomic<uint64_t> open_{0};   // slots with blocks to take
  alignas(64) std::atomic<uint64_t> taken_{0};  // slots in use
  alignas(64) std::atomic<int> walkers_{0};
  std::atomic<int> sleepers_{0};  // own threads asleep
  std::atomic<int> joiners_{0};   // walkers asleep in wait_any
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable work_came_;
  std::condition_variable launch_ended_;
  std::condition_variable seat_came_free_;
  Threads workers_;  // the last member: they use the others until they have ended
};

// The device of this process with T threads: made on first use, the same one while anybody holds it.
Result<std::shared_ptr<Device>> shared_device(int threads);

}  // namespace sluice
