// The CPU as a device: the share of the process's threads that a run may use. A run on T threads is
// walked by the thread that called it, helped by at most T - 1 others, which all runs share. At
// most as many threads are busy in the process as the device with the most threads has; a thread is
// busy while it runs blocks or walks a run, whatever the walker does between launches.
//
// After fork() the child has the devices of the parent and none of its threads: it starts threads
// of its own when it first needs them. Everything here is safe to call from any thread.
#pragma once

#include <memory>
#include <span>

#include "runtime/device/worker_pool.h"

namespace sluice {

class Device {
 public:
  ~Device();  // no run may be in progress
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int threads() const { return threads_; }
  // Starts the threads unless this process has started them already. Error: kLimit.
  Result<void> start_threads() {
    if (pool_->has_threads(threads_)) return {};
    return pool_->start_threads(threads_);
  }

  // Gives a walking thread the right to work on the device while in scope. The constructor waits
  // while all slots are acquired. A thread that already has a slot gets it again at once.
  class WalkerSlot {
   public:
    explicit WalkerSlot(Device& device);
    ~WalkerSlot();
    WalkerSlot(const WalkerSlot&) = delete;
    WalkerSlot& operator=(const WalkerSlot&) = delete;

   private:
    WorkerPool* pool_ = nullptr;    // null: the thread had a slot
    WorkerPool* before_ = nullptr;  // the pool in which the thread had a slot before
  };

  // Runs a whole launch on the calling thread, which has a slot, and on the device's own threads.
  void run(const Launch& launch, Scratch& scratch);

  // Puts a launch in flight; its operands must live until end(). Returns its slot, or -1 when 64
  // launches are already in flight or the device has one thread; the caller then runs it.
  int begin(const Launch& launch) { return pool_->begin(launch, threads_); }
  // Runs blocks of the launch on the calling thread until none is left to take. Returns how many.
  uint32_t help(int slot, Scratch& scratch) { return pool_->help(slot, scratch); }
  // Returns whether every block has run: the launch is then over.
  bool finished(int slot) const { return pool_->finished(slot); }
  void wait_any(std::span<const int> slots) {
    pool_->wait_any(slots);
  }  // until one of them has been finished
  void end(int slot) { pool_->end(slot); }  // releases the slot of a finished launch

  // Returns whether a run waits for a slot.
  bool is_crowded() const { return pool_->is_crowded(); }

  static constexpr int kSlots = WorkerPool::kSlots;

 private:
  friend class ProcessDevices;
  Device(int threads, std::shared_ptr<WorkerPool> pool)
      : threads_(threads), pool_(std::move(pool)) {}

  const int threads_;
  std::shared_ptr<WorkerPool> pool_;  // of the process
};

// Returns the device of this process with T >= 1 threads: made on first use, and the same one while
// anybody owns it. Error: kLimit when the threads cannot be started.
Result<std::shared_ptr<Device>> shared_device(int threads);

}  // namespace sluice
